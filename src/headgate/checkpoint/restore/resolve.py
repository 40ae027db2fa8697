"""Restore resolution: chooses the checkpoint to start from, by the files in storage. Pure.

A checkpoint is complete when its manifest is whole. A manifest is *torn* when it is cut short, empty or missing. A
checkpoint with a torn manifest, and without evidence that it ever was complete, is a leftover. No driver has acted upon
it, so the checkpoint before it is the latest. With evidence (`drivers.completion_evidence`), or when the manifest has
changed, the checkpoint is *damaged*: its sinks may have committed, and an older checkpoint would repeat their output.
So the restore is refused, unless the caller says that repeated output is safe (all sinks are idempotent, or the user
allows duplicates).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.completion_evidence import CompletionEvidence
from headgate.checkpoint.drivers.epochs import Chain, EpochOwner, is_valid
from headgate.checkpoint.manifest import Manifest
from headgate.errors import RestoreError
from headgate.ids import CheckpointId
from headgate.options import ALLOW_DUPLICATE_OUTPUT


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


@final
@dataclass(frozen=True, slots=True)
class OwnSavepoint:
    """A complete savepoint of the job itself, which did not stop the job."""

    location: str
    checkpoint_id: CheckpointId


def savepoint_ahead(savepoint: OwnSavepoint | None, found: Resolution) -> OwnSavepoint | None:
    """Return the savepoint if it is newer than the checkpoint to start from."""
    checkpoint_id = CheckpointId(0) if found.manifest is None else found.manifest.checkpoint_id
    return None if savepoint is None or savepoint.checkpoint_id <= checkpoint_id else savepoint


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
