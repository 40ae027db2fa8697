"""The search for the latest checkpoint of a job in storage, and the state that it gives to each subtask.

The functions read storage and let the pure modules `resolve` and `assign` decide. All block, and raise StorageError
when storage fails.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.completion_evidence import CompletionEvidence, digest_of, evidence_in, that_counts
from headgate.checkpoint.drivers.epochs import Chain
from headgate.checkpoint.manifest import Manifest, OperatorShape, decode
from headgate.checkpoint.restore.assign import Assignment, StoredElements, assign
from headgate.checkpoint.restore.resolve import Damaged, Observed, Resolution, RestoreFacts, Torn, resolve_restore
from headgate.checkpoint.restore.snapshots import file_troubles
from headgate.checkpoint.seal import is_torn
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.errors import DamagedFileError
from headgate.ids import CheckpointId, JobId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What the driver knows before it searches for the latest checkpoint; see `RestoreFacts`.

    `damaged` are checkpoints with files that turned out to be damaged, each with the reason.
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
    """Return the state that each subtask starts from. Reads list states; keyed state stays in its files.

    Raises RestoreError when the checkpoint does not fit the job, DamagedFileError when a file has changed.
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
        # May be unpickled: the bytes are from the job's own storage, and have the checksum that the manifest names.
        (operator.uid, index, name): pickle.loads(read_state(store, listed.handle))  # noqa: S301
        for operator in manifest.operators
        for index, state in operator.subtasks.items()
        for name, listed in state.lists.items()
    }
