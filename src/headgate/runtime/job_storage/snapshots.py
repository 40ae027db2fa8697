"""Snapshots of a job in storage: the begin of a driver, the restore of an attempt, the job's result. All blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, final

from headgate.checkpoint import storage_probe
from headgate.checkpoint.drivers import intents, job_records, ownership
from headgate.checkpoint.drivers.epochs import Chain
from headgate.checkpoint.drivers.job_records import JobResult
from headgate.checkpoint.restore.resolve import Resolution
from headgate.checkpoint.store import CheckpointStore
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, as_programmed
from headgate.ids import Attempt, Lineage
from headgate.runtime.job_storage.lease import Lease
from headgate.runtime.job_storage.restore import Ahead, Found, Known, RestorePoint, RestoreResolver

_DRIVER_DIGITS: Final = 8
"""The number of digits of a driver's nonce in the names of external systems, which must be short."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PriorRuns:
    """The history of the job when a driver begins: the last attempt of earlier drivers, and the result if it has ended.

    A job that has ended must not run again. Its `lease` is None, unless the job ended while the lease was taken.
    """

    lease: Lease | None
    last_attempt: Attempt
    ended: JobResult | None = None


def begin(store: CheckpointStore, nonce: Callable[[], str]) -> PriorRuns:
    """Take the lease of a job unless it has ended, and check that storage can be written. Raises StorageError."""
    ended = recorded_result(store)
    if ended is not None:
        return PriorRuns(lease=None, last_attempt=Attempt(0), ended=ended)
    storage_probe.check_writable(store, nonce())
    lease = Lease.take(store, nonce())
    ended = recorded_result(store)  # read it again: an earlier driver may have ended the job meanwhile
    return PriorRuns(lease=lease, last_attempt=job_records.last_attempt(store), ended=ended)


def recorded_result(store: CheckpointStore) -> JobResult | None:
    """Return the result of the job, None if it has not ended. Raises StorageError."""
    return ownership.valid_result(store, ownership.read_chain(store))


@final
class Snapshots:
    """Finds the snapshots that attempts start from. Used by one owner."""

    def __init__(self, store: CheckpointStore, open_store: Callable[[str], CheckpointStore], lease: Lease) -> None:
        self._store = store
        self._open_store = open_store
        self._lease = lease
        self._chain: Chain | None = None

    def look_ahead(self, plan: JobGraph) -> Ahead:
        """Return a forecast of the first attempt's start: see `RestoreResolver.look_ahead`."""
        return self._finder(plan, as_programmed(plan), ownership.read_chain(self._store)).look_ahead()

    def begin_lineage(self, plan: JobGraph, ahead: Ahead) -> Lineage:
        """Return the lineage that sinks write under, recorded in the job's folder. Raises LeaseLost, StorageError."""
        folder = self._lease.folder()
        lineage = job_records.read_lineage(folder) if ahead.goes_on else None
        if lineage is None:
            lineage = plan.lineage
            job_records.record_lineage(folder, self._lease.driver, lineage)
            self._lease.folder()  # if a later driver did not see the record, this call sees the later driver
        return replace(lineage, driver=self._lease.driver.nonce[:_DRIVER_DIGITS])

    def find(self, plan: JobGraph, attempt: Attempt, placement: Placement, known: Known) -> Found:
        """Begin an attempt: find its starting point in its placement, and write the evidence of the snapshot.

        Raises `RestoreError` when the snapshot cannot be used, `LeaseLost`, `StorageError`.
        """
        job_records.begin_attempt(self._store, attempt)
        folder = self._lease.folder()
        chain = ownership.read_chain(folder) if self._chain is None else self._chain
        found = self._finder(plan, placement, chain).find(known)
        if self._chain is None:
            self._chain = ownership.record_base(folder, self._lease.driver, chain, found.base)
            self._lease.folder()
        self._attest(found.point, chain)
        return found

    def _attest(self, point: RestorePoint, chain: Chain) -> None:
        """Write the evidence of the snapshot that the attempt starts from, before its output is committed."""
        if point.finishing:
            intents.attest_stop(self._store, chain)
        elif point.own is not None:
            ownership.attest_restored(self._store, point.own)

    def complete(self, plan: JobGraph, known: Known) -> Resolution:
        """Return which checkpoints of the job are complete. Raises `RestoreError`, `StorageError`."""
        chain = ownership.read_chain(self._store) if self._chain is None else self._chain
        return self._finder(plan, as_programmed(plan), chain).complete(known)

    def _finder(self, plan: JobGraph, placement: Placement, chain: Chain) -> RestoreResolver:
        return RestoreResolver(self._store, self._open_store, plan, placement, chain)
