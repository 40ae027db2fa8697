"""Work on I/O threads: one piece while another is done, in chosen orders and between the lines of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.connectors.number_seq import NumberSequenceSource
from headgate.errors import StorageError
from headgate.functions.acknowledging import SourceProgress
from headgate.ids import CheckpointId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.runtime.master.requests import SavepointRequest
from tests.unit.runtime.job_storage.test_acknowledging import Acknowledged, Notes
from tests.unit.runtime.job_storage.test_global_commits import (
    COUNT,
    SETTINGS,
    Appending,
    Table,
    checkpoints,
    rig_of,
    stop,
)
from tests.unit.runtime.master.test_discovery import Place, appear
from tests.unit.runtime.master.test_discovery import clear as clear_topics
from tests.unit.runtime.master.test_discovery import rig_of as rig_of_topics
from tests.unit.runtime.master.test_job_master import CALLS, FAIL_AT
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import line_plan


@pytest.fixture(autouse=True)
def _clear() -> None:
    for each in (Table.rows, Table.calls, Table.answers, Table.told, Table.discarded, FAIL_AT):
        each.clear()
    Table.look = lambda _: None
    CALLS[0] = 0
    clear_topics()


@pytest.mark.parametrize("pieces", range(5))
def test_sources_get_their_splits_whenever_a_slot_is_lost_while_the_start_is_prepared(pieces: int) -> None:
    settings = SETTINGS | {"restart-strategy.fixed-delay.delay": "0 ms"}
    rig = MasterRig(line_plan(NumberSequenceSource(0, COUNT - 1), CollectFactory(), settings=settings))
    list_sizes, answers = rig.store.list_sizes, iter([StorageError("no answer")])

    def mute_at_first(folder: str) -> dict[str, int]:
        for error in answers:
            raise error
        return list_sizes(folder)

    rig.store.list_sizes = mute_at_first  # type: ignore[method-assign]
    rig.master.submit()
    rig.io.run_one()
    while not rig.launches:
        rig.io.run_one()
    for _ in range(pieces):
        rig.turn(with_io=False)
        if rig.io.held:
            rig.io.run_one()
    late: list[Callable[[], None]] = []
    if rig.io.held:  # it is done, and the loop hears of it late
        work, done = rig.io.held.pop(0)
        result = work()
        late.append(lambda: done(result))
    rig.end_launch(1, "a worker was lost")
    rig.turn(with_io=False)
    for hear in late:
        hear()
    assert rig.end().status is JobStatus.FINISHED
    assert rig.collected() == list(range(COUNT))


class Busy:
    """Code of a user that is in the midst of a call, while the job goes on around it."""

    def __init__(self, meanwhile: Callable[[], Any]) -> None:
        self.meanwhile = meanwhile
        self.calls: list[str] = []
        self.overlaps: list[tuple[str, str]] = []
        self._inside: str | None = None
        self._met = False

    def called(self, name: str, *, met: bool) -> None:
        """It is called; `met`: this is the call during which all else goes on, if there was none before."""
        self.calls.append(name)
        if self._inside is not None:
            self.overlaps.append((self._inside, name))
        elif met and not self._met:
            self._met, self._inside = True, name
            self.meanwhile()
            self._inside = None


def go_on(rig: MasterRig, turns: int = 300) -> None:
    """Let everything happen that can."""
    for _ in range(turns):
        if not rig.turn():
            rig.clock.advance(10.0)


def test_one_commit_is_made_at_a_time_also_when_the_next_attempt_begins_during_it() -> None:
    rig = rig_of()

    def meanwhile() -> None:
        rig.end_launch(rig.launches[-1], "a worker was lost")
        go_on(rig)

    busy = Busy(meanwhile)
    checkpoints(rig, 2)
    FAIL_AT.add(CALLS[0] + 1)
    rig.run_until(lambda: rig.master.progress.restarts == 1)
    Table.look = lambda checkpoint_id: busy.called(f"commit {checkpoint_id}", met=True)
    assert rig.end().status is JobStatus.FINISHED
    assert busy.overlaps == []
    assert rig.master.progress.restarts == 2
    assert sorted(Table.rows) == list(range(COUNT))


def test_nothing_is_committed_while_output_of_an_earlier_attempt_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = rig_of(execution__checkpointing__interval="10 min")
    busy = Busy(lambda: go_on(rig))

    def abort(self: Appending, checkpoint_id: CheckpointId, committables: list[int]) -> None:
        busy.called(f"abort {checkpoint_id}", met=True)

    monkeypatch.setattr(Appending, "abort", abort)
    Table.look = lambda checkpoint_id: busy.called(f"commit {checkpoint_id}", met=False)
    rig.run_until(lambda: CALLS[0] >= 5)
    rig.deaf.add(1)  # its subtask of the sink does not answer, so that what the other prepares is of no use
    stop(rig, SavepointRequest())
    rig.run_until(lambda: _prepared(rig) > 0)
    rig.end_launch(1, "a worker was lost")
    rig.deaf.clear()
    assert rig.end().status is JobStatus.FINISHED
    assert [name for name in busy.calls if name.startswith("abort")]
    assert busy.overlaps == []
    assert sorted(Table.rows) == list(range(COUNT))


def _prepared(rig: MasterRig) -> int:
    return len(rig.master._checkpoints._prepared._prepared)


class Watching(Notes):
    """Notes whether an attempt was running when it heard of the start of one."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[bool] = []
        self.rig: MasterRig | None = None

    def note(self, what: str, progress: SourceProgress[Place]) -> None:
        super().note(what, progress)
        if what == "restored" and self.rig is not None:
            self.running.append(self.rig.master.progress.running_since_ms is not None)


def test_a_source_is_told_of_a_start_while_no_attempt_runs_however_late_an_earlier_one_is_prepared() -> None:
    notes = Watching()
    notes.rig = rig = rig_of_topics(Acknowledged(notes), readers=1)
    appear()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 2)
    rig.io.run()
    rig.end_launch(1, "a worker was lost")
    while len(rig.launches) < 2 or not rig.io.held:
        if rig.io.held:
            rig.io.run_one()
        rig.turn(with_io=False)
        rig.clock.advance(10.0)
    work, done = rig.io.held.pop(0)
    rig.end_launch(2, "a worker was lost")
    go_on(rig)
    done(work())
    go_on(rig)
    assert rig.master.progress.running_since_ms is not None
    assert len(notes.running) >= 2
    assert not any(notes.running)


def test_a_source_is_told_of_no_start_after_the_end_of_a_job_that_is_cancelled_during_one() -> None:
    notes = Notes()
    rig = rig_of_topics(Acknowledged(notes), readers=1)
    while not rig.launches:
        rig.io.run_one()
    work, done = rig.io.held.pop(0)
    rig.master.cancel()
    go_on(rig, turns=20)
    done(work())
    assert rig.end().status is JobStatus.CANCELED
    go_on(rig, turns=20)
    assert [what for what, *_ in notes.heard].count("restored") == 0
    assert notes.heard[-1][0] == "closed"
