"""The lease of a driver on its job: the right to act on the job's storage. The rules are in `drivers.epochs`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import final

from headgate.checkpoint.drivers import intents, ownership
from headgate.checkpoint.drivers.begun_savepoints import record_begun, record_complete
from headgate.checkpoint.drivers.epochs import EpochOwner as Driver
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.manifest_storage import InDoubt, Refused, Stored
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import RestoreError, StorageError

Outcome = Stored | Refused | Superseded


class LeaseLost(RestoreError):
    """A later driver has taken the job over: this one touches nothing of it any more."""


@final
class Lease:
    """The right of one driver to act on a job, until a later one takes it.

    Whoever writes or deletes asks for the `folder`, each time: there is no other way to it. All owners hold the same
    lease. What it knows changes once, from held to lost, so it needs no lock.
    """

    def __init__(self, store: CheckpointStore, driver: Driver) -> None:
        """Use `take`, which makes the driver the owner of the job in storage."""
        self.driver = driver
        self._store = store
        self._lost: Superseded | None = None

    @classmethod
    def take(cls, store: CheckpointStore, nonce: str) -> Lease:
        """Take the job over from whoever has it. Blocks, raises StorageError."""
        return cls(store, ownership.take_epoch(store, nonce))

    @property
    def is_lost(self) -> bool:
        """Whether it is known to be lost. Does not block."""
        return self._lost is not None

    def folder(self) -> CheckpointStore:
        """Return the job's folder, to act on now. Blocks; raises LeaseLost, StorageError."""
        if self._lost is None:
            self._lost = ownership.superseded(self._store, self.driver)
        if self._lost is not None:
            raise LeaseLost(self._lost.reason)
        return self._store

    def store(self, manifest: Manifest, savepoint: CheckpointStore | None) -> Outcome:
        """Write a manifest, to the folder `savepoint` if it is one's. Raises `InDoubt`: only `settle` may follow."""
        return self._noted(ownership.store_as_owner(self._store, self._signed(manifest), savepoint))

    def settle(self, manifest: Manifest, savepoint: CheckpointStore | None) -> Outcome:
        """Look whether a manifest in doubt is there. Raises `InDoubt` again."""
        return self._noted(ownership.settle_as_owner(self._store, self._signed(manifest), savepoint))

    def record_stop(self, stop: StopIntent) -> Outcome:
        """Record that the job ends with a savepoint. Raises `InDoubt`: to be called again then."""
        return self._noted(intents.record_stop(self._store, self.driver, stop))

    def begin_savepoint(self, location: str) -> None:
        """Record that a savepoint is begun, before any subtask hears of it. Raises LeaseLost, StorageError."""
        record_begun(self.folder(), self.driver, location)

    def complete_savepoint(self, location: str) -> None:
        """Record that the savepoint is stored, before its asker hears of it. Raises InDoubt: to be called again."""
        try:
            record_complete(self._store, self.driver, location)
        except StorageError as error:
            raise InDoubt(f"cannot record that the savepoint {location} is complete: {error}") from error

    def act(self, action: Callable[[CheckpointStore], None]) -> Outcome:
        """Do what takes the lease, and has no other result than that it is done."""
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
