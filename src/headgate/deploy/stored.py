"""What is stored of a job before it is planned: the max parallelism of its operators, fixed with their state."""

from __future__ import annotations

from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import Manifest, decode
from headgate.checkpoint.restore.snapshots import open_snapshot
from headgate.config import Settings
from headgate.errors import DamagedFileError, RestoreError, StorageError
from headgate.ids import JobId


def stored_max_parallelism(settings: Settings) -> dict[str, int]:
    """Return the max parallelism of each operator, by uid, in what the job is to start from; blocks.

    Empty when it starts from nothing, and also when that cannot be read: why, is told when the job is to start from it.
    """
    try:
        manifest = _of_own(settings) or _from_outside(settings)
    except (RestoreError, StorageError):
        return {}
    return {} if manifest is None else {each.uid: each.max_parallelism for each in manifest.operators}


def _of_own(settings: Settings) -> Manifest | None:
    """Return the newest manifest of a job whose id is set, None when there is none."""
    job_id = settings.get(options.JOB_ID)
    location = settings.get(options.CHECKPOINT_DIR) or settings.get(options.STORAGE_DIR)
    if job_id is None or location is None:
        return None
    store = FileSystemStore.open(location, JobId(job_id))
    ids = {id_ for path in store.list_files("") if (id_ := paths.checkpoint_of(path)) is not None}
    for checkpoint_id in sorted(ids, reverse=True):
        data = store.read(paths.metadata(checkpoint_id))
        if data is None:
            continue
        try:
            return decode(data, store.locate(paths.metadata(checkpoint_id)))
        except DamagedFileError:
            continue  # torn, or to be passed over
    return None


def _from_outside(settings: Settings) -> Manifest | None:
    location = settings.get(options.RECOVERY_PATH)
    return None if location is None else open_snapshot(location, FileSystemStore.open_folder).manifest
