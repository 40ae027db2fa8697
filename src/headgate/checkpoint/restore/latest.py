"""Restore resolution: the checkpoint that a job starts from, by the files in storage, and the state that it gives.

A checkpoint is complete when its manifest is whole. A manifest is *torn* when it is cut short, empty or missing. A
checkpoint with a torn manifest, and without evidence that it ever was complete, is a leftover. No driver has acted upon
it, so the checkpoint before it is the latest. With evidence (`drivers.completion_evidence`), or when the manifest has
changed, the checkpoint is *damaged*: its sinks may have committed, and an older checkpoint would repeat their output.
So the restore is refused, unless the caller says that repeated output is safe (all sinks are idempotent, or the user
allows duplicates).

`resolve_latest` reads the facts from storage, and `resolve_restore`, which is pure, decides. Functions that read
storage block, and raise StorageError when storage fails.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.completion_evidence import CompletionEvidence, digest_of, evidence_in, that_counts
from headgate.checkpoint.drivers.epochs import Chain, EpochOwner, is_valid
from headgate.checkpoint.manifest import Manifest, OperatorShape, decode
from headgate.checkpoint.restore.assign import Assignment, StoredElements, assign
from headgate.checkpoint.restore.snapshots import file_troubles
from headgate.checkpoint.seal import is_torn
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.errors import DamagedFileError, RestoreError
from headgate.ids import CheckpointId, JobId
from headgate.options import ALLOW_DUPLICATE_OUTPUT


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What the driver knows before it reads storage; see `RestoreFacts`.

    `damaged` are checkpoints with files that turned out to be damaged, each with the reason.
    """

    known_complete: CheckpointId | None
    may_fall_back: bool
    chain: Chain = ()
    damaged: Mapping[CheckpointId, str] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Torn:
    """The manifest is missing or cut short."""


@final
@dataclass(frozen=True, slots=True)
class Damaged:
    """The checkpoint was complete and is damaged. `reason` names the file. `owner` stored it, None if unknown."""

    reason: str
    owner: EpochOwner | None = None


Observed = Manifest | Torn | Damaged


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreFacts:
    """The facts that decide on a restore.

    `listing` are all paths in the job's folder, `manifests` the contents of each `_metadata` file. `evidence` says
    which checkpoints were complete. `known_complete` is the newest checkpoint that this master completed itself.
    `may_fall_back`: an older checkpoint may be used, and output may be repeated. `chain` says which manifests of
    earlier drivers count: a manifest that a driver stored after it was taken over does not.
    """

    listing: tuple[str, ...]
    manifests: Mapping[CheckpointId, Observed]
    evidence: Mapping[CheckpointId, CompletionEvidence] = field(default_factory=dict)
    known_complete: CheckpointId | None
    may_fall_back: bool
    chain: Chain = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The checkpoint to start from, None: from the beginning.

    `last_id` is the highest id seen, 0 for none: new ids are higher. `leftovers` were never complete. `passed_over`
    were complete but are damaged. `older` are the complete checkpoints older than `manifest`, newest first.
    """

    manifest: Manifest | None
    last_id: CheckpointId
    leftovers: tuple[CheckpointId, ...]
    passed_over: tuple[CheckpointId, ...]
    older: tuple[Manifest, ...] = ()


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


def resolve_restore(facts: RestoreFacts) -> Resolution:
    """Return the checkpoint to start from. Raises RestoreError naming the damage when a start might repeat output."""
    seen = _checkpoints_seen(facts)
    leftovers: list[CheckpointId] = []
    passed_over: list[CheckpointId] = []
    complete: list[Manifest] = []
    for checkpoint_id in sorted(seen, reverse=True):
        match _observed(checkpoint_id, facts):
            case Manifest() as manifest:
                complete.append(manifest)
            case Torn():
                leftovers.append(checkpoint_id)
            case Damaged(reason=reason) if not complete:
                if not facts.may_fall_back:
                    raise RestoreError(_refusal(checkpoint_id, reason))
                passed_over.append(checkpoint_id)
    return Resolution(
        manifest=complete[0] if complete else None,
        last_id=max(seen, default=CheckpointId(0)),
        leftovers=tuple(leftovers),
        passed_over=tuple(passed_over),
        older=tuple(complete[1:]),
    )


def _checkpoints_seen(facts: RestoreFacts) -> set[CheckpointId]:
    seen = {checkpoint_id for path in facts.listing if (checkpoint_id := paths.checkpoint_of(path)) is not None}
    return seen | facts.evidence.keys() | ({facts.known_complete} if facts.known_complete is not None else set())


def _observed(checkpoint_id: CheckpointId, facts: RestoreFacts) -> Observed:
    observed = facts.manifests.get(checkpoint_id, Torn())
    owner = None if isinstance(observed, Torn) else observed.owner
    if owner is not None and not is_valid(owner, checkpoint_id, facts.chain):
        return Torn()  # a later driver started from an older one, and may have deleted its files
    evidence = facts.evidence.get(checkpoint_id)
    if isinstance(observed, Torn) and evidence is not None and evidence.stop:
        return Damaged(
            f"the job is to end with this savepoint, but the file in {paths.STOPPED}/ that says so is missing or torn"
        )
    if isinstance(observed, Torn) and (evidence is not None or checkpoint_id == facts.known_complete):
        return Damaged(
            f"its manifest {paths.metadata(checkpoint_id)} was whole, and is now missing, empty or cut short"
        )
    if isinstance(observed, Manifest) and observed.checkpoint_id != checkpoint_id:
        return Damaged(f"{paths.metadata(checkpoint_id)} is the manifest of checkpoint {observed.checkpoint_id}")
    return observed


def _refusal(checkpoint_id: CheckpointId, reason: str) -> str:
    return (
        f"checkpoint {checkpoint_id} was complete, but cannot be restored: {reason}. Its sinks may have committed, so "
        "an older checkpoint could repeat output: bring the file back, or allow repeated output with "
        f"{ALLOW_DUPLICATE_OUTPUT.key}: true"
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
