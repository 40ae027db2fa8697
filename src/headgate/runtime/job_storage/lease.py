"""The lease of a driver on its job: the right to change the job's storage, and how a driver begins with it.

The rules are in `drivers.epochs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, final

from headgate.checkpoint import storage_probe
from headgate.checkpoint.drivers import intents, job_records, ownership
from headgate.checkpoint.drivers.begun_savepoints import record_begun, record_complete
from headgate.checkpoint.drivers.epochs import Chain
from headgate.checkpoint.drivers.epochs import EpochOwner as Driver
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.drivers.job_records import JobResult
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.manifest_storage import InDoubt, Refused, Stored
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import RestoreError, StorageError
from headgate.ids import Attempt, CheckpointId, Lineage

_DRIVER_DIGITS: Final = 8
"""The number of digits of a driver's nonce in the names of external systems, which must be short."""

Outcome = Stored | Refused | Superseded


class LeaseLost(RestoreError):
    """A later driver has taken the job over: this driver changes nothing of it any more."""


@final
class Lease:
    """The right of one driver to change a job's storage, until a later driver takes it.

    Every write and deletion asks for the `folder` again: there is no other way to it. All owners share one lease, and
    no lock is needed: it changes only once, from held to lost, and only the owner of snapshots uses the chain.
    """

    def __init__(self, store: CheckpointStore, driver: Driver) -> None:
        """Use `take` instead, which makes the driver the owner of the job in storage."""
        self.driver = driver
        self._store = store
        self._lost: Superseded | None = None
        self._chain: Chain | None = None

    @classmethod
    def take(cls, store: CheckpointStore, nonce: str) -> Lease:
        """Make a new driver the owner of the job, and return its lease. Blocks. Raises StorageError."""
        return cls(store, ownership.take_epoch(store, nonce))

    @property
    def is_lost(self) -> bool:
        """Whether the lease is known to be lost. Does not block."""
        return self._lost is not None

    def folder(self) -> CheckpointStore:
        """Return the job's folder for one write or deletion. Blocks. Raises LeaseLost, StorageError."""
        if self._lost is None:
            self._lost = ownership.superseded(self._store, self.driver)
        if self._lost is not None:
            raise LeaseLost(self._lost.reason)
        return self._store

    def chain(self) -> Chain:
        """Return the drivers of the job, which say which manifests count. Blocks. Raises StorageError."""
        return ownership.read_chain(self._store) if self._chain is None else self._chain

    def start_from(self, base: CheckpointId, chain: Chain) -> None:
        """Record the checkpoint that this driver starts from, unless it has started before.

        `chain` is the chain by which the checkpoint was found. Blocks. Raises LeaseLost, StorageError.
        """
        if self._chain is None:
            self._chain = ownership.record_base(self._store, self.driver, chain, base)
            self.folder()

    def begin_lineage(self, drawn: Lineage, *, goes_on: bool) -> Lineage:
        """Return the lineage that sinks write under, recorded in the job's folder. Blocks.

        The lineage is the recorded one if the job starts from its own snapshot, else `drawn`. Raises LeaseLost,
        StorageError.
        """
        folder = self.folder()
        lineage = job_records.read_lineage(folder) if goes_on else None
        if lineage is None:
            lineage = drawn
            job_records.record_lineage(folder, self.driver, lineage)
            self.folder()  # if a later driver did not see the record, this call sees the later driver
        return replace(lineage, driver=self.driver.nonce[:_DRIVER_DIGITS])

    def store(self, manifest: Manifest, savepoint: CheckpointStore | None) -> Outcome:
        """Write a manifest, for a savepoint to the folder `savepoint`. After `InDoubt` only `settle` may follow."""
        return self._noted(ownership.store_as_owner(self._store, self._signed(manifest), savepoint))

    def settle(self, manifest: Manifest, savepoint: CheckpointStore | None) -> Outcome:
        """Return the outcome of a manifest in doubt. Raises `InDoubt` when it is still unknown."""
        return self._noted(ownership.settle_as_owner(self._store, self._signed(manifest), savepoint))

    def record_stop(self, stop: StopIntent) -> Outcome:
        """Record that the job ends with a savepoint. After `InDoubt`, call it again."""
        return self._noted(intents.record_stop(self._store, self.driver, stop))

    def begin_savepoint(self, location: str) -> None:
        """Record that a savepoint is begun. Call this before a subtask hears of it. Raises LeaseLost, StorageError."""
        record_begun(self.folder(), self.driver, location)

    def complete_savepoint(self, location: str) -> None:
        """Record that the savepoint is stored. Call this before its asker hears of it, and again after `InDoubt`."""
        try:
            record_complete(self._store, self.driver, location)
        except StorageError as error:
            raise InDoubt(f"cannot record that the savepoint {location} is complete: {error}") from error

    def act(self, action: Callable[[CheckpointStore], None]) -> Outcome:
        """Run `action` on the job's folder. Return Stored when it is done, Superseded when the lease is lost."""
        try:
            action(self.folder())
        except LeaseLost:
            assert self._lost is not None
            return self._lost
        return Stored()

    def _signed(self, manifest: Manifest) -> Manifest:
        return replace(manifest, epoch=self.driver.number, nonce=self.driver.nonce)

    def _noted(self, result: Outcome) -> Outcome:
        if isinstance(result, Superseded):
            self._lost = result
        return result


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
    """Take the lease of a job unless it has ended, and check that storage can be written.

    Blocks. Raises StorageError.
    """
    ended = recorded_result(store)
    if ended is not None:
        return PriorRuns(lease=None, last_attempt=Attempt(0), ended=ended)
    storage_probe.check_writable(store, nonce())
    lease = Lease.take(store, nonce())
    ended = recorded_result(store)  # read it again: an earlier driver may have ended the job meanwhile
    return PriorRuns(lease=lease, last_attempt=job_records.last_attempt(store), ended=ended)


def recorded_result(store: CheckpointStore) -> JobResult | None:
    """Return the result of the job, None if it has not ended. Blocks. Raises StorageError."""
    return ownership.valid_result(store, ownership.read_chain(store))
