"""Clean-up: deletions while a job runs and when it has ended. All methods block, and need the lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import final

from headgate import options
from headgate.checkpoint.cleanup import deletion
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.drivers import intents, job_records
from headgate.checkpoint.drivers.begun_savepoints import clear_given_up, record_complete
from headgate.checkpoint.restore.latest import Resolution
from headgate.checkpoint.store import CheckpointStore
from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.job_storage.lease import Lease


@final
class CleanUp:
    """Deletes files that are not needed any more. Each method raises LeaseLost, StorageError."""

    def __init__(self, lease: Lease, open_store: Callable[[str], CheckpointStore]) -> None:
        self._lease = lease
        self._open_store = open_store

    def tidy(self, found: Resolution, before: Attempt) -> None:
        """Delete the files that earlier drivers, and attempts before `before`, have left behind."""
        deletion.remove_leftovers(self._lease.folder(), self._lease.driver, found, before)
        clear_given_up(self._lease.folder(), self._lease.driver, self._open_store)

    def discard(self, checkpoint_id: CheckpointId, attempt: Attempt) -> None:
        """Delete the files of a checkpoint that was given up."""
        deletion.discard_files(self._lease.folder(), checkpoint_id, attempt)

    def discard_savepoint(self, location: str) -> None:
        """Delete the folder of a savepoint that was given up."""
        self._lease.folder()
        self._open_store(location).delete_folder("")

    def forget_savepoint(self, location: str) -> None:
        """Delete the record of a savepoint that no subtask has heard of."""
        record_complete(self._lease.folder(), self._lease.driver, location)

    def retain(self, plan: JobGraph, keep: tuple[CheckpointId, ...], shared: SharedFiles) -> None:
        """Delete all checkpoints except `keep`, and shared files that they do not need.

        If `keep` has as many checkpoints as the job retains, delete the claimed snapshot, too.
        """
        deletion.retain(self._lease.folder(), keep, shared)
        if len(keep) >= plan.settings.get(options.CHECKPOINTS_RETAINED):
            self.drop_claimed()

    def drop_claimed(self) -> None:
        """Delete the snapshot that this driver or an earlier one has claimed, if it still exists."""
        folder = self._lease.folder()
        location = intents.read_claim(folder)
        if location is not None:
            deletion.dispose_claimed(location, self._open_store)
            intents.drop_claim(folder)

    def keep_retained(self, found: Resolution, num_retained: int) -> None:
        """Delete leftovers of a job that has ended, and its older checkpoints beyond `num_retained`."""
        folder = self._lease.folder()
        beyond = found.older[num_retained - 1 :]
        retained = replace(
            found,
            older=found.older[: len(found.older) - len(beyond)],
            leftovers=(*found.leftovers, *(manifest.checkpoint_id for manifest in beyond)),
        )
        next_attempt = Attempt(job_records.last_attempt(folder) + 1)
        deletion.remove_leftovers(folder, self._lease.driver, retained, next_attempt)
