"""Checkpoint workflows: the only place where checkpoint decisions meet storage.

Each function reads what it needs, has a pure function decide, and does what was decided. All block, so the job master
has them run on I/O threads; all raise StorageError when storage fails, unless they say otherwise.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.cleanup.retention import abandoned_files, checkpoint_files, superseded_files
from headgate.checkpoint.drivers.completion_evidence import CompletionEvidence, digest_of, evidence_in, that_counts
from headgate.checkpoint.drivers.epochs import Chain
from headgate.checkpoint.manifest import Manifest, OperatorShape, decode
from headgate.checkpoint.restore.assign import Assignment, StoredElements, assign
from headgate.checkpoint.restore.resolve import Damaged, Observed, Resolution, RestoreFacts, Torn, resolve_restore
from headgate.checkpoint.restore.snapshots import file_troubles
from headgate.checkpoint.seal import is_torn, seal, unseal
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.errors import DamagedFileError, StorageError
from headgate.ids import Attempt, CheckpointId, JobId, SlotIndex
from headgate.job_status import JobStatus
from headgate.state.files import SHARED

MASTER: Final = "master"


# --- storing -----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """The manifest is durable."""


@final
@dataclass(frozen=True, slots=True)
class Refused:
    """The manifest is not in storage, or what it holds is not committed. Not `retriable`: a restart cannot help."""

    reason: str
    retriable: bool = True


class InDoubt(StorageError):
    """Storage cannot tell yet whether the manifest is stored: call `settle_manifest` until it says."""


def store_manifest(store: CheckpointStore, path: str, data: bytes) -> Stored | Refused:
    """Write the encoded manifest, which completes the checkpoint. All state must be in storage before.

    A write that fails may have succeeded all the same, so it is read back. Raises InDoubt when that fails too, never
    anything else.
    """
    try:
        store.write(path, [data])
    except StorageError as error:
        return _read_back(store, path, data, str(error))
    return Stored()


def settle_manifest(store: CheckpointStore, path: str, data: bytes) -> Stored | Refused:
    """Look again whether a manifest in doubt is stored. Raises InDoubt when storage still does not answer."""
    return _read_back(store, path, data, "its write failed")


def metadata_of(manifest: Manifest) -> str:
    """Return the path of the manifest in the folder that it is of: of the job, or of the savepoint alone."""
    return paths.METADATA if manifest.savepoint is not None else paths.metadata(manifest.checkpoint_id)


def _read_back(store: CheckpointStore, path: str, data: bytes, reason: str) -> Stored | Refused:
    try:
        found = store.read(path)
    except StorageError as error:
        raise InDoubt(f"cannot find out whether {store.locate(path)} is stored: {reason}; then {error}") from error
    if found == data:
        return Stored()
    if found is not None and not is_torn(found):
        return Refused(f"{store.locate(path)} holds something else: is another driver running this job?")
    return Refused(reason)


# --- restoring ---------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a search for the latest checkpoint goes by, as in `RestoreFacts`.

    `damaged` are checkpoints whose files have turned out not to be whole, with why.
    """

    known_complete: CheckpointId | None
    may_fall_back: bool
    chain: Chain = ()
    damaged: Mapping[CheckpointId, str] = field(default_factory=dict)


def resolve_latest(store: CheckpointStore, job_id: JobId, search: Search) -> Resolution:
    """Find the checkpoint to start from. Raises RestoreError when there is one, but it cannot be used."""
    # Before the manifests: another driver may be completing a checkpoint, whose evidence it writes after them.
    evidence = that_counts(evidence_in(store.list_files(paths.COMPLETE)), search.chain)
    sizes = store.list_sizes("")
    ids = [checkpoint_id for path in sizes if (checkpoint_id := _manifest_of(path)) is not None]
    observed = {id_: _observe(store, job_id, id_, sizes, evidence.get(id_)) for id_ in ids}
    observed.update({id_: Damaged(reason) for id_, reason in search.damaged.items() if id_ in observed})
    return resolve_restore(
        RestoreFacts(
            listing=tuple(sizes),
            manifests=observed,
            evidence=evidence,
            known_complete=search.known_complete,
            may_fall_back=search.may_fall_back,
            chain=search.chain,
        )
    )


def read_assignment(
    store: CheckpointStore, manifest: Manifest, shapes: Sequence[OperatorShape], *, allow_non_restored: bool
) -> Assignment:
    """Return what each subtask starts from. Keyed state stays in its files; list states are read.

    Raises RestoreError when the checkpoint does not fit the job, DamagedFileError when a file is not what was written.
    """
    return assign(manifest, shapes, _read_lists(store, manifest), allow_non_restored=allow_non_restored)


def _manifest_of(path: str) -> CheckpointId | None:
    checkpoint_id = paths.checkpoint_of(path)
    return checkpoint_id if checkpoint_id is not None and path == paths.metadata(checkpoint_id) else None


def _observe(
    store: CheckpointStore,
    job_id: JobId,
    checkpoint_id: CheckpointId,
    sizes: Mapping[str, int],
    evidence: CompletionEvidence | None,
) -> Observed:
    path = paths.metadata(checkpoint_id)
    data = store.read(path)
    if data is None or is_torn(data):
        return Torn()
    if evidence is not None and evidence.digest != digest_of(data):
        return Damaged(f"{store.locate(path)} is not the file with which the checkpoint was completed")
    try:
        manifest = decode(data, store.locate(path))
    except DamagedFileError as error:
        return Damaged(str(error))
    if manifest.job_id != job_id:
        return Damaged(f"{store.locate(path)} belongs to job {manifest.job_id}")
    troubles = file_troubles(store, manifest, sizes)
    return Damaged(troubles[0], manifest.owner) if troubles else manifest


def _read_lists(store: CheckpointStore, manifest: Manifest) -> StoredElements:
    return {
        # From the job's own storage, with the checksum that its manifest names: the one thing that may be unpickled.
        (operator.uid, index, name): pickle.loads(read_state(store, listed.handle))  # noqa: S301
        for operator in manifest.operators
        for index, state in operator.subtasks.items()
        for name, listed in state.lists.items()
    }


# --- before anything runs ----------------------------------------------------------------------------------------


def check_writable(store: CheckpointStore, nonce: str) -> None:
    """Write a file and delete it. Raises StorageError, naming the path, when the job could store nothing.

    `nonce` is unique: two drivers may start the job at the same time.
    """
    path = paths.probe(nonce, MASTER)
    store.write(path, [b""])
    store.delete([path])


# --- attempts ----------------------------------------------------------------------------------------------------


def begin_attempt(store: CheckpointStore, attempt: Attempt) -> None:
    """Note that the attempt was begun, so that no later driver of this job uses its number again."""
    store.write(paths.attempt_marker(attempt), [b""])


def last_attempt(store: CheckpointStore) -> Attempt:
    """Return the highest attempt that any driver has begun for this job; 0 when none has."""
    markers = store.list_files(paths.ATTEMPTS)
    return max(map(paths.attempt_of_marker, markers), default=Attempt(0))


# --- cleaning up -------------------------------------------------------------------------------------------------


def retain(store: CheckpointStore, keep: Iterable[CheckpointId], shared: SharedFiles) -> None:
    """Delete the checkpoints older than the newest kept one, and shared files that may go.

    No file that a kept manifest names is among them. `shared` is what was known when `keep` was decided upon.

    Deletes nothing when a kept manifest cannot be read, since what it names is then not known; nor when one is gone, as
    a later retention has then overtaken this one.
    """
    manifests: list[Manifest] = []
    for checkpoint_id in keep:
        path = paths.metadata(checkpoint_id)
        data = store.read(path)
        if data is None:
            return
        manifests.append(decode(data, store.locate(path)))
    listing = store.list_files("")
    files = superseded_files(listing, manifests, shared)
    _delete(store, files, _checkpoints_of(_emptied(listing, files)))


def discard_files(store: CheckpointStore, checkpoint_id: CheckpointId, attempt: Attempt) -> None:
    """Delete what the attempt wrote for a checkpoint that was given up; nothing, if there is a whole manifest."""
    manifest = store.read(paths.metadata(checkpoint_id))
    if manifest is not None and not is_torn(manifest):
        return
    listing = [*store.list_files(paths.checkpoint_folder(checkpoint_id)), *store.list_files(SHARED)]
    files = abandoned_files(listing, checkpoint_id, attempt)
    _delete(store, files, _checkpoints_of(_emptied(listing, files)))


def delete_checkpoints(store: CheckpointStore) -> None:
    """Delete all checkpoints of the job, which is over. Its result must be written before."""
    listing = store.list_files("")
    files = checkpoint_files(listing)
    _delete(store, files, sorted({*_emptied(listing, files), SHARED, paths.PROBES}))


def _delete(store: CheckpointStore, files: Sequence[str], folders: Sequence[str]) -> None:
    """Delete manifests, then the folders, each in one go, then the rest of the files.

    What was written to one of the folders after it was listed goes, too.
    """
    manifests = [path for path in files if path.endswith(f"/{paths.METADATA}")]
    store.delete(manifests)
    for folder in folders:
        store.delete_folder(folder)
    gone = {*manifests, *(path for path in files if _folder_of(path) in folders)}
    store.delete(path for path in files if path not in gone)


def _emptied(listing: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the folders of the listing that have nothing else than these files."""
    used = {_folder_of(path) for path in set(listing) - set(files)}
    return sorted({_folder_of(path) for path in files} - used - {""})


def _checkpoints_of(folders: Sequence[str]) -> list[str]:
    """Return those that are of a checkpoint: while the job runs, slots write to all others."""
    return [folder for folder in folders if paths.checkpoint_of(folder) is not None]


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


# --- the job's result --------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """How a job ended: its status, why if it failed, and when by the wall clock. `owner` wrote it.

    `kept`: its checkpoints stay. Whoever finds the result deletes nothing then, whatever its own settings say.
    """

    status: JobStatus
    cause: str | None
    ended_ms: int
    owner: str = ""
    kept: bool = True


def write_result(store: CheckpointStore, result: JobResult) -> None:
    """Write the durable result of the job, before its checkpoints are deleted. Writing it again is harmless."""
    existing = store.read(paths.RESULT)
    if existing is not None and not is_torn(existing) and result.owner in ("", _result_of(existing, store).owner):
        return
    store.delete([paths.RESULT])
    store.write(paths.RESULT, [seal(asdict(result) | {"status": result.status.word})])


def read_result(store: CheckpointStore) -> JobResult | None:
    """Return how the job ended, or None when it has not. Raises DamagedFileError when the result has changed.

    One that is torn is no result while the driver that was writing it has its epoch: the job goes on. Where no driver
    has one, the result was whole, and all else was deleted after it.
    """
    data = store.read(paths.RESULT)
    if data is None:
        return None
    if not is_torn(data):
        return _result_of(data, store)
    if store.list_files(paths.EPOCHS):
        return None
    raise DamagedFileError(
        f"{store.locate(paths.RESULT)} is empty or cut short, but the job had ended: nothing else is left of it. "
        "Bring the file back, or delete it if the job is to run again from the beginning"
    )


def _result_of(data: bytes, store: CheckpointStore) -> JobResult:
    document = unseal(data, store.locate(paths.RESULT))
    try:
        status = JobStatus.of_word(document["status"])
    except ValueError:
        raise StorageError(
            f"{store.locate(paths.RESULT)} says that the job is {document['status']!r}, which this release does not "
            "know: use the release that wrote it"
        ) from None
    return JobResult(
        status=status,
        cause=document["cause"],
        ended_ms=document["ended_ms"],
        owner=document.get("owner", ""),
        kept=document.get("kept", True),
    )


# --- proof that all see the same storage -------------------------------------------------------------------------


def write_probe(store: CheckpointStore, nonce: str) -> None:
    """The master's first part: write a file for all slots to find."""
    store.write(paths.probe(nonce, MASTER), [nonce.encode()])


def answer_probe(store: CheckpointStore, nonce: str, slot: SlotIndex, host: str) -> None:
    """A slot's part: find the master's file and write one of its own.

    Raises StorageError, naming host and path, when the slot does not see what the master wrote.
    """
    path = paths.probe(nonce, MASTER)
    if store.read(path) != nonce.encode():
        raise StorageError(_not_shared(store, path, f"slot {slot} on host {host} does not see the driver's file"))
    store.write(paths.probe(nonce, f"slot-{slot}"), [nonce.encode()])


def check_probes(store: CheckpointStore, nonce: str, hosts: Mapping[SlotIndex, str]) -> None:
    """The master's second part, when every slot has answered: find their files, then delete them.

    Raises StorageError, naming host and path, for a slot whose file is not there.
    """
    for slot, host in sorted(hosts.items()):
        path = paths.probe(nonce, f"slot-{slot}")
        if store.read(path) != nonce.encode():
            raise StorageError(_not_shared(store, path, f"the driver does not see the file of slot {slot} on {host}"))
    remove_probes(store, nonce)


def remove_probes(store: CheckpointStore, nonce: str) -> None:
    """Delete the files of this proof; another driver may be at its own."""
    own = paths.probe(nonce, "")
    store.delete(path for path in store.list_files(paths.PROBES) if path.startswith(own))


def _not_shared(store: CheckpointStore, path: str, who: str) -> str:
    return (
        f"checkpoint storage is not shared: {who} {store.locate(path)}. Set the checkpoint directory to storage that "
        "the driver and all workers reach under the same path"
    )
