"""The folder of a job in checkpoint storage: opened for a job that starts, and read before a job is planned."""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass
from typing import final

from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore, absolute
from headgate.checkpoint.manifest import Manifest, decode
from headgate.checkpoint.restore.snapshots import open_snapshot
from headgate.checkpoint.store import CheckpointStore, MemoryStore
from headgate.config import Settings
from headgate.errors import DamagedFileError, RestoreError, StorageError
from headgate.graph.job_graph import JobGraph
from headgate.ids import JobId
from headgate.runtime.job_storage.location import keeps_in_memory, storage_location

_log = logging.getLogger(__name__)


@final
@dataclass(frozen=True, slots=True)
class JobFolder:
    """The folder of one job.

    `root` is the folder or URI that contains the job's folder, `location` the job's folder. Both are absolute, and None
    for a job whose checkpoints are in the driver's memory.
    """

    store: CheckpointStore
    root: str | None = None
    location: str | None = None
    temporary: tempfile.TemporaryDirectory[str] | None = None

    @staticmethod
    def of(job: JobGraph) -> JobFolder:
        """Open the folder that the settings of a job name, else a temporary folder, with a warning about checkpoints.

        Writes nothing to storage; may block for S3. Raises StorageError naming the location.
        """
        root = storage_location(job)
        if root is None and keeps_in_memory(job):
            return JobFolder(MemoryStore())
        temporary = _temporary_folder(job) if root is None else None
        root = root if temporary is None else temporary.name
        assert root is not None
        store = FileSystemStore.open(root, job.job_id)
        return JobFolder(store, absolute(root), paths.job_folder(absolute(root), job.job_id), temporary)

    def close(self) -> None:
        """Delete the folder if it is temporary."""
        if self.temporary is not None:
            self.temporary.cleanup()


def _temporary_folder(job: JobGraph) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="headgate-")
    if job.checkpointing:
        _log.warning(
            "checkpoints of job %s are in the temporary folder %s and end with this process: set %s to keep them",
            job.job_name,
            folder.name,
            options.CHECKPOINT_DIR.key,
        )
    return folder


def stored_max_parallelism(settings: Settings) -> dict[str, int]:
    """Return the max parallelism of each operator, by uid, in the snapshot from which the job will start. Blocks.

    Empty without a snapshot, and if the snapshot cannot be read: the start of the job then raises the error.
    """
    try:
        manifest = _of_own(settings) or _from_outside(settings)
    except (RestoreError, StorageError):
        return {}
    return {} if manifest is None else {each.uid: each.max_parallelism for each in manifest.operators}


def _of_own(settings: Settings) -> Manifest | None:
    """Return the newest readable manifest of the job, None without one and without a configured job id."""
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
            continue  # an interrupted write, or a checkpoint that recovery also skips
    return None


def _from_outside(settings: Settings) -> Manifest | None:
    location = settings.get(options.RECOVERY_PATH)
    return None if location is None else open_snapshot(location, FileSystemStore.open_folder).manifest
