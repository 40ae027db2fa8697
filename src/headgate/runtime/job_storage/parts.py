"""Parts: what one driver has of a job's storage, each with the owner that works with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from headgate.checkpoint.store import CheckpointStore
from headgate.runtime.io import Io
from headgate.runtime.job_storage.clean_up import CleanUp
from headgate.runtime.job_storage.lease import Lease
from headgate.runtime.job_storage.owners import StorageOwner
from headgate.runtime.job_storage.sink_commits import SinkCommits
from headgate.runtime.job_storage.snapshots import Snapshots
from headgate.runtime.job_storage.source_inputs import SourceInputs


@final
@dataclass(slots=True)
class Parts:
    """The parts and their owners. Filled on the loop, as the driver comes to have them; None before."""

    store: CheckpointStore
    """The job's folder, to read. To act on it takes the lease."""
    open_store: Callable[[str], CheckpointStore]
    snapshot_owner: StorageOwner
    clean_up_owner: StorageOwner
    sink_owner: StorageOwner
    source_owner: StorageOwner
    lease: Lease | None = field(default=None, init=False)
    snapshots: Snapshots | None = field(default=None, init=False)
    sinks: SinkCommits | None = field(default=None, init=False)
    inputs: SourceInputs | None = field(default=None, init=False)

    @classmethod
    def of(cls, store: CheckpointStore, open_store: Callable[[str], CheckpointStore], io: Io) -> Parts:
        """Return the parts of a driver that has nothing yet; all owners work on the threads of `io`."""
        return cls(store, open_store, StorageOwner(io), StorageOwner(io), StorageOwner(io), StorageOwner(io))

    def held(self) -> Lease:
        """Return the lease of a driver that has prepared its job."""
        assert self.lease is not None
        return self.lease

    def clean_up(self) -> CleanUp:
        """Return what deletes, under the lease."""
        return CleanUp(self.held(), self.open_store)

    def folder(self) -> CheckpointStore:
        """Return the job's folder, to act on; of a job that ended before, which takes no lease any more. Blocks."""
        return self.store if self.lease is None else self.lease.folder()

    def folder_of(self, root: str | None) -> CheckpointStore:
        """Return the folder of a snapshot, to read: that of the job, or another at `root`. Blocks."""
        return self.store if root is None else self.open_store(root)
