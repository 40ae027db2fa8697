"""The external system that simulated jobs read from and write to, in transactions that must be committed.

All processes of a run share it. Functions, sources and sinks are pickled, so they find it by a number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

from headgate.checkpoint.manifest import Manifest
from headgate.errors import SinkError
from headgate.functions.sink import (
    Committer,
    GlobalCommitter,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkIdentity,
    SinkWriter,
)
from headgate.ids import CheckpointId, JobId, Lineage
from headgate.testing.sim.work import operation
from headgate.testing.sim.world import Action, World

_numbers = itertools.count(1)
_systems: dict[int, External] = {}


@final
@dataclass(slots=True)
class SimTransaction:
    """Records that become visible together."""

    job_id: JobId
    lineage: Lineage
    uid: str
    subtask: int
    parallelism: int
    attempt: int
    checkpoint_id: CheckpointId
    records: list[Any] = field(default_factory=list)


@final
class External:
    """A transactional store, with switches that make user code fail."""

    def __init__(self, world: World, permitted: set[str]) -> None:
        self.number = next(_numbers)
        self.prepared: dict[str, SimTransaction] = {}
        """All transactions that were ever prepared."""
        self.pending: dict[str, SimTransaction] = {}
        self.final: dict[str, list[Any]] = {}
        self.bomb: str | None = None
        """Name of the function that raises at its next call."""
        self.outage_until_ms = 0.0
        self.mishap_rate = 0.0
        self.marks: set[str] = set()
        """Transactions that an earlier run under the job id made final: their records do not count."""
        self.kept: dict[str, set[str]] = {}
        """The savepoints for which a transaction is kept, whatever happens to its job."""
        self.given_up: set[str] = set()
        """The savepoints that never became complete, as the driver has said."""
        self.on_keep: Action = lambda: None
        """Called when a transaction is kept."""
        self.newest: tuple[JobId, int] | None = None
        """The newest job and attempt."""
        self.world = world
        self._permitted = permitted
        self._secured: set[str] = set()
        _systems[self.number] = self

    def close(self) -> None:
        """Remove the system: no part of the run may use it afterwards."""
        del _systems[self.number]

    def forked(self, savepoint: Manifest, pending: set[str]) -> External:
        """Return the system as of a savepoint: earlier transactions are final, and those in the savepoint are pending.

        A restarted driver may not know of the savepoint: transactions that its attempts made final came after the
        savepoint, though under lower checkpoint ids.
        """
        other = External(self.world, self._permitted)
        for name, records in self.final.items():
            if name not in pending and _is_before(self.prepared[name], savepoint):
                other.final[name] = records
        other.pending = {name: self.prepared[name] for name in pending}
        return other

    def used_again(self, job_id: JobId, counted: External | None = None) -> External:
        """Return the system for another run under a job id that has run before, with other storage.

        It has all marks, and the transactions that earlier runs under this id have left open; nobody ends transactions
        of other job ids. Transactions that were final then do not count, except those in `counted`: see `forked`.
        """
        other = External(self.world, self._permitted) if counted is None else counted
        other.marks = self.final.keys() - other.final.keys() - other.pending.keys()
        left = {name: found for name, found in self.pending.items() if found.job_id == job_id}
        other.pending = {**left, **other.pending}
        other.kept, other.given_up = {name: set(of) for name, of in self.kept.items()}, set(self.given_up)
        return other

    # --- transactions

    def prepare(self, name: str, transaction: SimTransaction) -> None:
        if name in self.pending or name in self.final or name in self.marks:
            self.world.violated(f"transaction {name} is prepared twice")
        self.prepared[name] = self.pending[name] = transaction

    def secure(self, names: list[str]) -> None:
        for name in names:
            operation(self.world, f"secure {name}")
            self._secured.add(name)

    def lose_power(self) -> None:
        """Lose some or all transactions that are prepared but not secured."""
        for name in sorted(self.pending.keys() - self._secured):
            if self.world.chance(0.5):
                self.world.note("outside", f"{name} is lost")
                del self.pending[name]

    def is_down(self, share: float = 1.0) -> bool:
        """Return whether the system does not answer now; the chance of a mishap is `share` times the mishap rate."""
        return self.world.now_ms < self.outage_until_ms or self.world.chance(self.mishap_rate * share)

    def commit(self, names: list[str]) -> None:
        for name in names:
            operation(self.world, f"commit {name}")
            if self.is_down():
                kind = RetriableCommitError if self.world.chance(0.5) else SinkError
                raise kind(f"simulated: the outside does not answer at {name}")
            self._commit_one(name)

    def check_final(self, names: list[str]) -> None:
        """Check that these transactions are final: a subtask was told that the global committer has committed them."""
        for name in names:
            if name not in self.final:
                self.world.violated(f"a subtask hears that {name} is committed, but it is not final")

    def _commit_one(self, name: str) -> None:
        if name in self.final or name in self.marks:
            return
        transaction = self.pending.pop(name, None)
        if transaction is None:
            self.world.violated(f"transaction {name} is to be committed, but is neither pending nor final")
            raise SinkError(f"{name} is lost")
        if name not in self._permitted:
            self.world.violated(f"transaction {name} is committed, but no durable manifest names it")
        self.world.note("outside", f"{name} is final, {len(transaction.records)} records")
        self.final[name] = transaction.records

    def abort(self, names: list[str]) -> None:
        """Abort transactions that no snapshot holds; some may be gone already."""
        for name in names:
            if name in self._permitted or name in self.final:
                self.world.violated(f"transaction {name} is aborted by its job, although a manifest names it")
            if self.pending.pop(name, None) is not None:
                self.world.note("outside", f"{name} is aborted by its job")

    def keep(self, names: list[str], savepoint: str) -> None:
        for name in names:
            self.kept.setdefault(name, set()).add(savepoint)
        if names:
            self.on_keep()

    def give_up(self, savepoints: frozenset[str]) -> None:
        for savepoint in sorted(savepoints - self.given_up):
            self.world.note("outside", f"savepoint {savepoint} was given up")
        self.given_up |= savepoints

    def kept_for(self, name: str) -> set[str]:
        """Return the savepoints that keep a transaction."""
        return self.kept.get(name, set()) - self.given_up

    def discard(self, identity: SinkIdentity) -> None:
        """Abort the open transactions of a sink that has ended, except those that savepoints hold."""
        for name, found in list(self.pending.items()):
            is_own = (found.job_id, found.lineage, found.uid) == (identity.job_id, identity.lineage, identity.uid)
            if is_own and not self.kept_for(name):
                self.world.note("outside", f"{name} is discarded")
                del self.pending[name]

    def recover(self, context: SinkContext, restored: list[str]) -> None:
        """Abort transactions of older attempts of this subtask, or of a removed subtask, except `restored`.

        Transactions that attempts of another parallelism had prepared by the restored checkpoint may belong to any
        subtask.
        """
        if self.newest is None or self.newest < (context.job_id, context.attempt):
            self.newest = context.job_id, context.attempt
        for name, found in list(self.pending.items()):
            subtask = found.subtask % context.parallelism
            owner = (found.job_id, found.lineage, found.uid, subtask)
            is_own = owner == (context.job_id, context.lineage, context.uid, context.subtask)
            is_dealt = found.parallelism != context.parallelism and found.checkpoint_id <= (context.restored_id or 0)
            if is_own and found.attempt < context.attempt and name not in restored and not is_dealt:
                if self.kept_for(name):
                    continue
                if name in self._permitted:
                    self.world.violated(f"transaction {name} is aborted, although a durable manifest names it")
                self.world.note("outside", f"{name} is aborted")
                del self.pending[name]

    def of_other_lineages(self, identity: SinkIdentity, held: list[str]) -> list[str]:
        """Return the open transactions of other lineages of the job id, except those still to be committed."""
        return [
            name
            for name, found in self.pending.items()
            if (found.job_id, found.uid) == (identity.job_id, identity.uid)
            and found.lineage != identity.lineage
            and name not in held
            and not self.kept_for(name)
        ]

    def end(self, names: list[str]) -> None:
        """Abort open transactions of an ended lineage."""
        for name in names:
            if self.pending.pop(name, None) is not None:
                self.world.note("outside", f"{name} is aborted, as its lineage has ended")

    def records_of(self, uid: str) -> list[Any]:
        """Return all final records of the sink with this uid."""
        return [record for name in sorted(self.final) if name.startswith(f"{uid}.") for record in self.final[name]]

    # --- user code

    def pass_through(self, function: str) -> None:
        """Raise if this function is to fail now. User functions call this for each record."""
        if self.bomb == function:
            self.bomb = None
            raise ValueError(f"simulated: {function} fails")


def _is_before(transaction: SimTransaction, savepoint: Manifest) -> bool:
    if transaction.job_id != savepoint.job_id:
        return transaction.job_id < savepoint.job_id
    return transaction.attempt <= savepoint.attempt and transaction.checkpoint_id < savepoint.checkpoint_id


def system(number: int) -> External:
    """Return the system with that number."""
    return _systems[number]


@final
@dataclass(frozen=True)
class SimSink(Sink[str]):
    """Writes to the external system. A committable is the name of a transaction."""

    number: int
    commits_globally: bool = False

    def give_up(self, identity: SinkIdentity, savepoints: frozenset[str]) -> None:
        system(self.number).give_up(savepoints)

    def discard(self, identity: SinkIdentity) -> None:
        system(self.number).discard(identity)

    def end_others(self, identity: SinkIdentity, held: list[str]) -> Callable[[], None]:
        found = system(self.number).of_other_lineages(identity, held)
        return lambda: system(self.number).end(found)

    def writer(self, context: SinkContext) -> SimWriter:
        return SimWriter(self.number, context)

    def committer(self, context: SinkContext) -> SimCommitter:
        return SimCommitter(self.number, context, is_told_only=self.commits_globally)

    def global_committer(self) -> SimGlobalCommitter | None:
        return SimGlobalCommitter(self.number) if self.commits_globally else None


@final
class SimWriter(SinkWriter[str]):
    """Collects the records of one transaction."""

    def __init__(self, number: int, context: SinkContext) -> None:
        self._system = system(number)
        self._context = context
        self._records: list[Any] = []

    def write(self, records: list[Any]) -> None:
        self._system.pass_through(self._context.uid)
        self._records += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[str]:
        if not self._records:
            return []
        where = self._context
        job = f"j{where.job_id[-2:]}/l{where.lineage.digits[:6]}"
        name = f"{where.uid}.{where.subtask}/{job}/a{where.attempt}/c{checkpoint_id}"
        self._system.prepare(
            name,
            SimTransaction(
                job_id=where.job_id,
                lineage=where.lineage,
                uid=where.uid,
                subtask=where.subtask,
                parallelism=where.parallelism,
                attempt=where.attempt,
                checkpoint_id=checkpoint_id,
                records=self._records,
            ),
        )
        self._records = []
        return [name]


@final
class SimCommitter(Committer[str]):
    """Commits transactions by name; with `is_told_only`, checks that the global committer has done so."""

    def __init__(self, number: int, context: SinkContext, *, is_told_only: bool) -> None:
        self._system = system(number)
        self._context = context
        self._is_told_only = is_told_only

    def secure(self, committables: list[str]) -> None:
        self._system.secure(committables)

    def commit(self, committables: list[str]) -> None:
        if self._is_told_only:
            self._system.check_final(committables)
        else:
            self._system.commit(committables)

    def abort(self, committables: list[str]) -> None:
        self._system.abort(committables)

    def keep(self, committables: list[str], savepoint: str) -> None:
        self._system.keep(committables, savepoint)

    def recover(self, restored: list[str]) -> None:
        self._system.recover(self._context, restored)


@final
class SimGlobalCommitter(GlobalCommitter[str]):
    """Commits the transactions of all subtasks, one after the other; it may fail half-way."""

    def __init__(self, number: int) -> None:
        self._number = number

    def commit(self, checkpoint_id: CheckpointId, committables: list[str]) -> None:
        system(self._number).commit(committables)

    def abort(self, checkpoint_id: CheckpointId, committables: list[str]) -> None:
        system(self._number).abort(committables)
