"""Deletion of checkpoints and savepoints that are no longer needed, and of files that earlier drivers have left.

Pure functions in `retention` decide which files to delete. All functions here block, and raise StorageError when
storage fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.cleanup.retention import abandoned_files, checkpoint_files, leftover_files, superseded_files
from headgate.checkpoint.drivers.epochs import EpochOwner
from headgate.checkpoint.drivers.job_records import earlier_records
from headgate.checkpoint.drivers.ownership import older_claims
from headgate.checkpoint.manifest import Manifest, decode
from headgate.checkpoint.restore.latest import Resolution
from headgate.checkpoint.restore.snapshots import OpenedSnapshot, open_snapshot
from headgate.checkpoint.seal import is_torn
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import DamagedFileError, RestoreError
from headgate.ids import Attempt, CheckpointId
from headgate.state.files import SHARED


def retain(store: CheckpointStore, keep: Iterable[CheckpointId], shared: SharedFiles) -> None:
    """Delete the checkpoints older than the newest kept one, and the shared files that no checkpoint needs.

    Files that a kept manifest names stay. `shared` is the registry's state when `keep` was decided. If a kept manifest
    is gone, nothing is deleted: a later retention has overtaken this one. Raises DamagedFileError, and deletes nothing,
    when a kept manifest cannot be read: the files that it needs are then not known.
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
    """Delete the files that the attempt wrote for a checkpoint that was given up, unless its manifest is whole."""
    manifest = store.read(paths.metadata(checkpoint_id))
    if manifest is not None and not is_torn(manifest):
        return
    listing = [*store.list_files(paths.checkpoint_folder(checkpoint_id)), *store.list_files(SHARED)]
    files = abandoned_files(listing, checkpoint_id, attempt)
    _delete(store, files, _checkpoints_of(_emptied(listing, files)))


def delete_checkpoints(store: CheckpointStore) -> None:
    """Delete all checkpoints of a job that has ended. Write the job's result before."""
    listing = store.list_files("")
    files = checkpoint_files(listing)
    _delete(store, files, sorted({*_emptied(listing, files), SHARED, paths.PROBES}))


def _delete(store: CheckpointStore, files: Sequence[str], folders: Sequence[str]) -> None:
    """Delete the manifests, then the folders as a whole, then the other files.

    Files that were written to one of the folders after the listing are deleted, too.
    """
    manifests = [path for path in files if path.endswith(f"/{paths.METADATA}")]
    store.delete(manifests)
    for folder in folders:
        store.delete_folder(folder)
    gone = {*manifests, *(path for path in files if _folder_of(path) in folders)}
    store.delete(path for path in files if path not in gone)


def _emptied(listing: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the folders of the listing that contain only these files."""
    used = {_folder_of(path) for path in set(listing) - set(files)}
    return sorted({_folder_of(path) for path in files} - used - {""})


def _checkpoints_of(folders: Sequence[str]) -> list[str]:
    """Return only the folders of checkpoints: slots of a running job may write to every other folder."""
    return [folder for folder in folders if paths.checkpoint_of(folder) is not None]


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def dispose_savepoint(location: str, open_store: Callable[[str], CheckpointStore]) -> None:
    """Delete the savepoint at `location`: its manifest, then its files, then its folder if that is empty.

    Raises RestoreError when `location` holds no savepoint. A checkpoint is refused too: only its job may delete it.
    """
    opened = open_snapshot(location, open_store)
    if opened.manifest.savepoint is None:
        raise RestoreError(
            f"{opened.store.locate(opened.metadata)} is a checkpoint, not a savepoint: its job deletes it. When that "
            "job is gone for good, delete the job's folder"
        )
    _dispose(opened)


def dispose_claimed(location: str, open_store: Callable[[str], CheckpointStore]) -> None:
    """Delete a snapshot that a job has claimed, except for files that other checkpoints in its folder need.

    A checkpoint's job folder stays. A snapshot that is gone already is no error.
    """
    try:
        opened = open_snapshot(location, open_store)
    except RestoreError:
        return  # the snapshot was deleted before, or cannot be recognised any more
    _dispose(opened)


def _dispose(opened: OpenedSnapshot) -> None:
    store, folder = opened.store, opened.metadata.rpartition("/")[0]
    others = _named_by_others(opened)
    store.delete([opened.metadata])
    if others is None:
        return
    own = [path for path in store.list_files(folder) if _is_own(path, opened)]
    store.delete(sorted({*opened.manifest.files(), *own} - others))
    if not store.list_files(folder):
        store.delete_folder(folder)


def _is_own(path: str, opened: OpenedSnapshot) -> bool:
    """Return whether the file belongs to the snapshot, complete or not. A subfolder may belong to another job."""
    if path.rpartition("/")[0] != opened.metadata.rpartition("/")[0]:
        return False
    return paths.attempt_of(path) is not None or paths.target_of(path) == opened.metadata


def _named_by_others(opened: OpenedSnapshot) -> set[str] | None:
    """Return the files that other snapshots in the folder need, None when that cannot be known."""
    if opened.manifest.savepoint is not None:
        return set()
    named: set[str] = set()
    for path in opened.store.list_files(""):
        if not path.endswith(f"/{paths.METADATA}") or path == opened.metadata:
            continue
        data = opened.store.read(path)
        if data is None or is_torn(data):
            continue
        try:
            named |= decode(data, opened.store.locate(path)).files()
        except (DamagedFileError, RestoreError):
            return None
    return named


def remove_leftovers(store: CheckpointStore, own: EpochOwner, found: Resolution, before: Attempt) -> None:
    """Delete the files that drivers before `own`, and attempts before `before`, have left behind.

    `found` names the complete checkpoints: the files that they need stay. If the restore passed over a damaged
    checkpoint, nothing is deleted.
    """
    if found.passed_over:
        return
    complete = [*found.older, *([found.manifest] if found.manifest is not None else ())]
    listing = store.list_files("")
    store.delete(leftover_files(listing, complete, frozenset(found.leftovers), before))
    store.delete(older_claims(store, own))
    store.delete(earlier_records(store))
    used = {path.partition("/")[0] for path in store.list_files("")}
    for checkpoint_id in found.leftovers:
        if paths.checkpoint_folder(checkpoint_id) not in used:
            store.delete_folder(paths.checkpoint_folder(checkpoint_id))
