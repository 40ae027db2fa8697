"""Retention: which files to delete when some checkpoints are kept. Pure: it knows only names and kept manifests.

A file in the folder of a checkpoint is deleted with the checkpoint. A file in `shared/` is deleted when the registry of
shared files says so, or when the checkpoint that it was made for is given up. A file with a temporary name is deleted
when the file that it was to become may be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.drivers.completion_evidence import outdated_evidence
from headgate.checkpoint.manifest import Manifest
from headgate.ids import Attempt, CheckpointId


def superseded_files(listing: Iterable[str], keep: Sequence[Manifest], shared: SharedFiles) -> list[str]:
    """Return the files of checkpoints older than the newest kept one, in the order in which to delete them.

    The result has no file that a kept manifest names, and no file of a newer checkpoint, which may be under way.
    Manifests come first. So a deletion that is interrupted leaves no checkpoint that looks complete but has lost files.
    """
    if not keep:
        return []
    newest = max(manifest.checkpoint_id for manifest in keep)
    named = frozenset[str]().union(*(manifest.files() for manifest in keep))
    kept_ids = {manifest.checkpoint_id for manifest in keep}

    def goes(path: str) -> bool:
        checkpoint_id = paths.checkpoint_of(path)
        if checkpoint_id is None:
            return shared.may_go(path)
        return checkpoint_id < newest and checkpoint_id not in kept_ids

    files = list(listing)
    outdated = outdated_evidence(files, kept_ids)
    return [*_manifests_first(path for path in files if goes(path) and path not in named), *outdated]


def abandoned_files(listing: Iterable[str], checkpoint_id: CheckpointId, attempt: Attempt) -> list[str]:
    """Return the files that `attempt` wrote for a checkpoint that was given up, including a torn manifest.

    The result has no shared file that was made for another checkpoint.
    """

    def goes(path: str) -> bool:
        origin = paths.origin_of(path)
        if origin is not None:
            return origin.checkpoint_id == checkpoint_id and origin.attempt == attempt
        is_own = paths.is_of_attempt(path, attempt) or paths.target_of(path) == paths.metadata(checkpoint_id)
        return is_own and paths.checkpoint_of(path) == checkpoint_id

    return _manifests_first(path for path in listing if goes(path))


def leftover_files(
    listing: Iterable[str], complete: Sequence[Manifest], never: frozenset[CheckpointId], before: Attempt
) -> list[str]:
    """Return the files left behind by attempts older than `before`, none of which still runs.

    `complete` are all complete checkpoints: the result has no file that they name. The checkpoints in `never`
    were never completed.
    """
    named = frozenset[str]().union(*(manifest.files() for manifest in complete))

    def goes(path: str) -> bool:
        attempt = paths.attempt_of(path)
        is_old = attempt is not None and attempt < before
        if path.startswith(f"{paths.PROBES}/"):
            return True
        if path.startswith(f"{paths.ATTEMPTS}/"):  # a later attempt than `before` may run now
            return paths.attempt_of_marker(paths.target_of(path)) < before - 1
        if (checkpoint_id := paths.checkpoint_of(path)) is not None:
            return checkpoint_id in never and (is_old or paths.target_of(path) == paths.metadata(checkpoint_id))
        return is_old and paths.origin_of(path) is not None

    files = list(listing)
    outdated = outdated_evidence(files, (manifest.checkpoint_id for manifest in complete))
    return [*_manifests_first(path for path in files if goes(path) and path not in named), *outdated]


def checkpoint_files(listing: Iterable[str]) -> list[str]:
    """Return all files of the job except its result, its savepoints and files in `taskowned/`."""
    kept = (f"{paths.TASK_OWNED}/", paths.SAVEPOINT)
    return _manifests_first(path for path in listing if path != paths.RESULT and not path.startswith(kept))


def _manifests_first(files: Iterable[str]) -> list[str]:
    return sorted(files, key=lambda path: (not path.endswith(f"/{paths.METADATA}"), path))
