"""Ownership of a job in storage: taking an epoch, and writes that only the owner may make.

The rules are in `epochs`. All functions block, and raise StorageError when storage fails, unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import epochs
from headgate.checkpoint.drivers.completion_evidence import CompletionEvidence, digest_of
from headgate.checkpoint.drivers.epochs import Base, Chain, EpochOwner
from headgate.checkpoint.drivers.job_records import JobResult, read_result
from headgate.checkpoint.manifest import Manifest, encode
from headgate.checkpoint.manifest_storage import InDoubt, Refused, Stored, metadata_of, settle_manifest, store_manifest
from headgate.checkpoint.seal import is_torn, seal, unseal
from headgate.checkpoint.store import CheckpointStore, missing
from headgate.errors import StorageError
from headgate.ids import CheckpointId


@final
@dataclass(frozen=True, slots=True)
class Superseded:
    """Another driver owns the job: this driver must tell no slot or client anything, delete nothing and end.

    `stored`: this driver's write is in storage nevertheless, and the other driver may start from it.
    """

    reason: str
    stored: bool = False


def take_epoch(store: CheckpointStore, nonce: str) -> EpochOwner:
    """Make the caller the owner of the job. `nonce` is unique among the job's drivers: digits and small letters."""
    own = epochs.next_owner(_owners(store), nonce)
    store.write(paths.epoch(str(own)), [b""])
    while max(seen := _owners(store), default=own) > own:  # another driver claims at the same time: go above that
        own = epochs.next_owner(seen, nonce)
        store.write(paths.epoch(str(own)), [b""])
    return own


def superseded(store: CheckpointStore, own: EpochOwner) -> Superseded | None:
    """Return who has taken the job over, None while `own` owns it."""
    other = epochs.taken_over_by(own, _owners(store))
    if other is None:
        return None
    return Superseded(
        f"the job was taken over by a later driver ({other}; this one has epoch {own.number}): two drivers ran it at "
        "the same time, with the same job id and storage. This one has stopped, and the other goes on"
    )


def _owners(store: CheckpointStore) -> list[EpochOwner]:
    names = (path.rpartition("/")[2] for path in store.list_files(paths.EPOCHS))
    return [owner for name in names if (owner := epochs.parse_owner(name)) is not None]


# --- where owners start from -------------------------------------------------------------------------------------


def read_chain(store: CheckpointStore) -> Chain:
    """Return the chain of the highest owner that has recorded one. Raises DamagedFileError."""
    while (chain := _read_chain(store)) is None:
        pass  # a later driver has recorded its own chain meanwhile
    return chain


def _read_chain(store: CheckpointStore) -> Chain | None:
    """Return the chain that counts, None if its file was deleted meanwhile."""
    listing = store.list_files(paths.EPOCHS)
    recorded = [(owner, path) for path in listing if (owner := _recorded_by(path)) is not None]
    for _, path in sorted(recorded, reverse=True):
        data = store.read(path)
        if data is None:
            return None
        if not is_torn(data):
            return tuple(map(decode_base, unseal(data, store.locate(path))["chain"]))
    return ()


def record_base(store: CheckpointStore, own: EpochOwner, before: Chain, checkpoint_id: CheckpointId) -> Chain:
    """Record the checkpoint that `own` starts from. `before` is the chain until now; return the new chain."""
    chain = (*before, Base(own, checkpoint_id))
    path, data = paths.epoch_base(str(own)), seal({"chain": [_encode_base(base) for base in chain]})
    if store.read(path) != data:
        store.delete([path])  # left by a failed write: nothing was started from this base
        store.write(path, [data])
    return chain


def _recorded_by(path: str) -> EpochOwner | None:
    name, separator, rest = path.rpartition("/")[2].rpartition(paths.BASE_SUFFIX)
    return epochs.parse_owner(name) if separator and not rest else None


def _encode_base(base: Base) -> dict[str, object]:
    return {"owner": str(base.owner), "checkpoint_id": base.checkpoint_id}


def decode_base(document: dict[str, object]) -> Base:
    """Return the base from its JSON form in storage."""
    owner = epochs.parse_owner(str(document["owner"]))
    assert owner is not None
    return Base(owner, CheckpointId(int(str(document["checkpoint_id"]))))


# --- writes of the owner -------------------------------------------------------------------------------------------


def store_as_owner(
    store: CheckpointStore, manifest: Manifest, savepoint: CheckpointStore | None
) -> Stored | Refused | Superseded:
    """Write the manifest, then its evidence, if its owner still owns the job. Tell slots and clients only after Stored.

    `store` is the job's folder. `savepoint` is the folder for the manifest of a savepoint, which gets no evidence.
    Raises InDoubt, after which only `settle_as_owner` may follow. Before the write is issued, a defect may raise
    anything; after that, nothing else is raised.
    """
    own = manifest.owner
    try:
        if savepoint is None:
            _claim_id(store, manifest)
        if (found := superseded(store, own)) is not None:
            return found
    except StorageError as error:
        return Refused(str(error))
    return _completed(store, manifest, savepoint, store_manifest)


def settle_as_owner(
    store: CheckpointStore, manifest: Manifest, savepoint: CheckpointStore | None
) -> Stored | Refused | Superseded:
    """Return the outcome of a manifest in doubt. Pass the arguments of `store_as_owner`.

    Raises InDoubt when storage still does not answer.
    """
    return _completed(store, manifest, savepoint, settle_manifest)


def _completed(
    store: CheckpointStore,
    manifest: Manifest,
    savepoint: CheckpointStore | None,
    put: Callable[[CheckpointStore, str, bytes], Stored | Refused],
) -> Stored | Refused | Superseded:
    """Write or settle the manifest with `put`, then write the evidence of a checkpoint, then look for later drivers."""
    path, data = metadata_of(manifest), encode(manifest)
    result = put(store if savepoint is None else savepoint, path, data)
    if savepoint is None:
        result = _attested(store, manifest, data, result)
    return _unless_superseded(store, manifest.owner, result)


def _attested(store: CheckpointStore, manifest: Manifest, data: bytes, result: Stored | Refused) -> Stored | Refused:
    """Write the evidence of a stored manifest. Raises InDoubt when this fails, because the manifest stays."""
    if isinstance(result, Stored):
        evidence = CompletionEvidence(manifest.checkpoint_id, manifest.owner, digest_of(data))
        try:
            attest(store, evidence)
        except StorageError as error:
            raise InDoubt(f"cannot store the evidence of checkpoint {manifest.checkpoint_id}: {error}") from error
    return result


def attest(store: CheckpointStore, evidence: CompletionEvidence) -> None:
    """Write the evidence, unless it exists."""
    if store.read(evidence.path) is None:
        store.write(evidence.path, [b""])


def attest_restored(store: CheckpointStore, manifest: Manifest) -> None:
    """Write the evidence of a restored checkpoint, unless it exists, before its output is committed.

    The checkpoint's driver may have died before it wrote the evidence, or was of a release that wrote none. It may even
    have died before the manifest was durable, so this function makes the manifest durable, too. Raises DamagedFileError
    when the manifest is gone.
    """
    path = paths.metadata(manifest.checkpoint_id)
    data = store.read(path)
    if data is None:
        raise missing(store.locate(path))
    store.secure(path)
    attest(store, CompletionEvidence(manifest.checkpoint_id, manifest.owner, digest_of(data)))


def _claim_id(store: CheckpointStore, manifest: Manifest) -> None:
    """Make sure that the checkpoint's folder has a file, so that a later driver's listing shows the id as used."""
    if any(paths.checkpoint_of(path) == manifest.checkpoint_id for path in manifest.files()):
        return
    store.write(paths.id_claim(manifest.checkpoint_id, manifest.attempt), [b""])


def _unless_superseded(
    store: CheckpointStore, own: EpochOwner, result: Stored | Refused
) -> Stored | Refused | Superseded:
    try:
        found = superseded(store, own)
    except StorageError as error:
        raise InDoubt(f"cannot find out whether another driver has taken over the job: {error}") from error
    return result if found is None else replace(found, stored=isinstance(result, Stored))


def valid_result(store: CheckpointStore, chain: Chain) -> JobResult | None:
    """Return the result of the job, None if it has not ended. Raises DamagedFileError when the result has changed.

    A result that a driver wrote after a later driver had started does not count.
    """
    result = read_result(store)
    if result is not None:
        store.secure(paths.RESULT)
    owner = None if result is None else epochs.parse_owner(result.owner)
    return None if owner is not None and any(base.owner > owner for base in chain) else result


def older_claims(store: CheckpointStore, own: EpochOwner) -> list[str]:
    """Return the claims and bases of owners before `own`, which are not needed once `own` has recorded its base."""
    listing = {path: paths.target_of(path) for path in store.list_files(paths.EPOCHS)}
    owners = {path: epochs.parse_owner(of.rpartition("/")[2]) or _recorded_by(of) for path, of in listing.items()}
    return [path for path, owner in owners.items() if owner is not None and owner < own]
