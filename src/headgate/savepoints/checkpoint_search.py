"""The search for the newest complete checkpoint of a job, which may be running."""

from __future__ import annotations

from typing import Final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import ownership
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.restore.latest import Search, resolve_latest
from headgate.errors import RestoreError
from headgate.ids import JobId

_TRIES_MAX: Final = 5


def newest_checkpoint(folder: str) -> str:
    """Return the location of a job's newest complete checkpoint. `folder` is the job's folder in checkpoint storage.

    A running job deletes the checkpoint once `execution.checkpointing.num-retained` newer ones are complete. Blocks.
    Raises `RestoreError` if no checkpoint is complete or the newest is damaged, and `StorageError` if storage does not
    answer.
    """
    location = paths.absolute(str(folder)).rstrip("/")
    store = FileSystemStore.open_folder(location)
    search = Search(known_complete=None, may_fall_back=False, chain=ownership.read_chain(store))
    for tries in range(1, _TRIES_MAX + 1):
        # A running job changes its folders while they are listed: after an inconsistent result, list them again.
        try:
            found = resolve_latest(store, JobId(paths.split(location)[1]), search).manifest
        except RestoreError:
            if tries == _TRIES_MAX:
                raise
            continue
        if found is not None and store.read(paths.metadata(found.checkpoint_id)) is not None:
            return paths.below(location, paths.checkpoint_folder(found.checkpoint_id))
    raise RestoreError(
        f"there is no complete checkpoint in {location}: give the folder of a savepoint, a checkpoint or a job, "
        "which is <execution.checkpointing.dir>/<job id>. A job that has ended keeps its checkpoints only if "
        "execution.checkpointing.externalized-checkpoint-retention says so"
    )


def may_be_job(location: str) -> bool:
    """Return whether the name may be a job's folder: it is no checkpoint's folder and no `_metadata` file."""
    name = paths.split(paths.absolute(location))[1]
    return name != paths.METADATA and paths.checkpoint_of(name) is None
