"""Intents of a job in its folder, which outlive the driver: to end with a savepoint, to delete a claimed snapshot.

Each driver that stops the job writes a file of its own. So a driver that was taken over without noticing it cannot
remove the record of a later driver.

All functions block, and raise StorageError when storage fails, unless they say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.completion_evidence import CompletionEvidence, digest_of
from headgate.checkpoint.drivers.epochs import Chain, EpochOwner, is_valid, parse_owner
from headgate.checkpoint.drivers.ownership import Superseded, attest, superseded
from headgate.checkpoint.manifest_storage import InDoubt, Refused, Stored
from headgate.checkpoint.seal import is_torn, seal, unseal
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import StorageError
from headgate.ids import CheckpointId


@final
@dataclass(frozen=True, slots=True)
class StopIntent:
    """The job ends with the savepoint at `location`: every later attempt only commits what the savepoint holds."""

    location: str
    checkpoint_id: CheckpointId


def record_stop(store: CheckpointStore, own: EpochOwner, stop: StopIntent) -> Stored | Refused | Superseded:
    """Record that the job ends with this savepoint. Tell slots and clients only after Stored.

    Raises only InDoubt: storage cannot tell whether the stop is recorded. Call the function again until it can.
    """
    path, data = paths.stop_intent(str(own)), _encode(stop)
    try:
        if (found := superseded(store, own)) is not None:
            return found
    except StorageError as error:
        raise InDoubt(f"cannot find out whether another driver has taken over the job: {error}") from error
    try:
        if store.read(path) != data:
            store.delete([path])  # torn
            store.write(path, [data])
        attest(store, CompletionEvidence(stop.checkpoint_id, own, digest_of(data), stop=True))
        found = superseded(store, own)
    except StorageError as error:
        raise InDoubt(f"cannot find out whether {store.locate(path)} is stored: {error}") from error
    return Stored() if found is None else found


def read_stop(store: CheckpointStore, chain: Chain) -> StopIntent | None:
    """Return the savepoint that the job is to end with, None for none. Raises DamagedFileError."""
    found = _newest_stop(store, chain)
    return None if found is None else found[1]


def attest_stop(store: CheckpointStore, chain: Chain) -> None:
    """Make the record of the stop durable and write evidence of it, before its savepoint is committed."""
    found = _newest_stop(store, chain)
    if found is not None:
        owner, stop = found
        store.secure(paths.stop_intent(str(owner)))
        attest(store, CompletionEvidence(stop.checkpoint_id, owner, digest_of(_encode(stop)), stop=True))


def _newest_stop(store: CheckpointStore, chain: Chain) -> tuple[EpochOwner, StopIntent] | None:
    names = (path.rpartition("/")[2] for path in store.list_files(paths.STOPPED))
    owners = [owner for name in names if (owner := parse_owner(name)) is not None]
    for owner in sorted(owners, reverse=True):
        document = _read(store, paths.stop_intent(str(owner)))
        if document is None:
            continue
        stop = StopIntent(document["location"], CheckpointId(document["checkpoint_id"]))
        if is_valid(owner, stop.checkpoint_id, chain):
            return owner, stop
    return None


def _encode(stop: StopIntent) -> bytes:
    return seal({"location": stop.location, "checkpoint_id": stop.checkpoint_id})


def record_claim(store: CheckpointStore, location: str) -> None:
    """Record that the snapshot at `location` is the job's own, to be deleted when it is no longer needed."""
    if read_claim(store) == location:
        return
    store.delete([paths.CLAIMED])
    store.write(paths.CLAIMED, [seal({"location": location})])


def read_claim(store: CheckpointStore) -> str | None:
    """Return the location of the snapshot that the job is to delete, None for none. Raises DamagedFileError."""
    document = _read(store, paths.CLAIMED)
    return None if document is None else document["location"]


def drop_claim(store: CheckpointStore) -> None:
    """Forget the claimed snapshot, which is gone."""
    store.delete([paths.CLAIMED])


def _read(store: CheckpointStore, path: str) -> dict[str, Any] | None:
    data = store.read(path)
    return None if data is None or is_torn(data) else unseal(data, store.locate(path))
