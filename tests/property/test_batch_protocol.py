"""Batches through random losses of drivers, attempts and messages: each record changes state exactly once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headgate.connectors.micro_batches.protocol import (
    Acknowledge,
    BatchProtocol,
    Completed,
    Drop,
    FeedRestored,
    Offered,
    QueryPosition,
    Record,
    StartQuery,
    Written,
    position_of,
)
from headgate.connectors.micro_batches.protocol import FeedWrite as WriteOrder
from headgate.errors import RestoreError
from tests.sample_size import sample_size

SIZE = 3


@dataclass(frozen=True)
class Snapshot:
    """What a checkpoint or savepoint holds: batches known, the folder and position in each unfinished one, counts."""

    known: frozenset[int] = frozenset()
    unfinished: dict[int, tuple[int, int]] = field(default_factory=dict)
    counts: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def position(self) -> QueryPosition:
        return position_of([("q", batch) for batch in self.known], [("q", batch) for batch in self.unfinished])


@dataclass
class Driver:
    """All that is lost with a driver."""

    protocol: BatchProtocol
    runs: Snapshot
    folder: int | None = None
    to_write: int | None = None
    to_commit: int | None = None
    offered: bool = False
    untold: list[Snapshot] = field(default_factory=list)


class Batches(RuleBasedStateMachine):
    """A query whose record and a job whose snapshots survive everything, and drivers that do not."""

    @initialize()
    def begin(self) -> None:
        self.record = Record()
        self.folders: dict[int, int] = {}
        self.number = 0
        self.chain: list[Snapshot] = []
        self.savepoints: list[Snapshot] = []
        self.refused = 0
        self.driver: Driver | None = None
        self.start(Snapshot())

    # --- the driver

    def start(self, snapshot: Snapshot) -> None:
        self.driver = Driver(BatchProtocol(ends=False), snapshot)
        self.carry_out(self.driver.protocol.handle(FeedRestored(snapshot.position, self.record)))

    def carry_out(self, effects: list[Any]) -> None:
        driver = self.running
        for effect in effects:
            match effect:
                case StartQuery():
                    self.record = replace(self.record, query="q")
                case WriteOrder(batch):
                    driver.to_write = batch
                case Acknowledge(batch):
                    driver.to_commit = batch
                case Drop(batch):
                    assert batch <= self.record.acknowledged
                    self.folders = {name: own for name, own in self.folders.items() if own > batch}
                case _:
                    raise AssertionError(effect)

    @property
    def running(self) -> Driver:
        assert self.driver is not None
        return self.driver

    def is_running(self) -> bool:
        return self.driver is not None

    @precondition(is_running)
    @rule()
    def lose_the_driver(self) -> None:
        self.driver = None

    @precondition(lambda self: self.driver is None)
    @rule()
    def start_again(self) -> None:
        self.start(self.chain[-1] if self.chain else Snapshot())

    @precondition(lambda self: self.driver is None and self.savepoints)
    @rule(data=st.data())
    def start_another_job_from_a_savepoint(self, data: st.DataObject) -> None:
        savepoint = data.draw(st.sampled_from(self.savepoints))
        if savepoint.position.covered < self.record.acknowledged:
            with pytest.raises(RestoreError, match="has acknowledged batch"):
                self.start(savepoint)
            self.driver = None
            self.refused += 1
        else:
            self.start(savepoint)
            self.chain = [savepoint]

    @precondition(is_running)
    @rule()
    def restart_the_attempt(self) -> None:
        latest = self.chain[-1] if self.chain else Snapshot()
        self.running.runs = latest
        self.running.untold = []
        self.carry_out(self.running.protocol.handle(FeedRestored(latest.position, self.record)))

    # --- the query

    @precondition(lambda self: self.is_running() and not self.running.offered)
    @rule()
    def offer(self) -> None:
        batch = self.record.acknowledged + 1
        self.record = replace(self.record, planned=max(batch, self.record.planned))
        self.running.offered = True
        self.carry_out(self.running.protocol.handle(Offered(batch)))

    @precondition(lambda self: self.is_running() and self.running.to_write is not None)
    @rule(whole=st.booleans())
    def write(self, whole: bool) -> None:
        batch = self.running.to_write
        assert batch is not None
        self.number += 1
        self.folders[self.number] = batch
        if whole:
            self.running.to_write, self.running.folder = None, self.number
            self.carry_out(self.running.protocol.handle(Written(batch)))

    @precondition(lambda self: self.is_running() and self.running.to_commit is not None)
    @rule()
    def commit(self) -> None:
        batch = self.running.to_commit
        assert batch == self.record.acknowledged + 1
        self.record = replace(self.record, acknowledged=batch)
        self.running.to_commit, self.running.offered = None, False

    # --- the job

    @precondition(is_running)
    @rule()
    def hand_out(self) -> None:
        driver, batch = self.running, self.running.protocol.reading
        if batch is not None and batch not in driver.runs.known:
            assert driver.folder is not None
            runs = driver.runs
            driver.runs = replace(
                runs, known=runs.known | {batch}, unfinished=runs.unfinished | {batch: (driver.folder, 0)}
            )

    @precondition(lambda self: self.is_running() and self.running.runs.unfinished)
    @rule(count=st.integers(1, SIZE))
    def read(self, count: int) -> None:
        runs = self.running.runs
        batch, (folder, start) = next(iter(runs.unfinished.items()))
        assert self.folders.get(folder) == batch, "what is to be read is gone"
        counts = Counter(runs.counts)
        end = min(SIZE, start + count)
        counts.update((batch, row) for row in range(start, end))
        rest = {} if end == SIZE else {batch: (folder, end)}
        self.running.runs = replace(runs, unfinished=rest, counts=dict(counts))

    @precondition(is_running)
    @rule(told=st.booleans())
    def take_a_checkpoint(self, told: bool) -> None:
        self.chain.append(self.running.runs)
        if told:
            self.carry_out(self.running.protocol.handle(Completed(self.running.runs.position)))

    @precondition(is_running)
    @rule()
    def take_a_savepoint(self) -> None:
        self.savepoints.append(self.running.runs)

    # --- the way that things go without losses

    @precondition(is_running)
    @rule(steps=st.integers(1, 12), often=st.booleans())
    def go_on(self, steps: int, often: bool) -> None:
        for _ in range(steps):
            self.step()
            if often:
                self.take_a_checkpoint(told=True)

    def step(self) -> None:
        driver = self.running
        if driver.to_commit is not None:
            self.commit()
        elif not driver.offered:
            self.offer()
        elif driver.to_write is not None:
            self.write(whole=True)
        elif driver.runs.unfinished:
            self.read(2)
        elif driver.protocol.reading is not None and driver.protocol.reading not in driver.runs.known:
            self.hand_out()
        else:
            self.take_a_checkpoint(told=True)

    # --- what must hold

    @invariant()
    def no_record_changes_state_twice(self) -> None:
        if getattr(self, "driver", None) is not None:
            assert set(self.running.runs.counts.values()) <= {1}

    @invariant()
    def the_record_is_never_ahead_of_the_newest_checkpoint(self) -> None:
        if getattr(self, "chain", None):
            assert self.record.acknowledged <= self.chain[-1].position.covered

    def teardown(self) -> None:
        """Run on without losses: everything that was ever planned is read, each record once."""
        if not hasattr(self, "record"):
            return
        if self.driver is None:
            self.start_again()
        goal = self.record.planned + 2
        while self.record.acknowledged < goal:
            self.step()
        read = {batch for batch, _ in self.running.runs.counts}
        assert self.running.runs.counts == {(batch, row): 1 for batch in range(max(read) + 1) for row in range(SIZE)}


TestBatches = Batches.TestCase
TestBatches.settings = settings(max_examples=sample_size(150), stateful_step_count=40, deadline=None)
