"""How far the sources of a group may go: against a model that looks at all reports each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from headgate.functions.watermarks import WatermarkAlignment
from headgate.ids import SubtaskId
from headgate.runtime.master.watermark_aligner import WatermarkAligner

SOURCES: Final = {
    0: WatermarkAlignment(group="a", max_drift_ms=10, interval_ms=100),
    1: WatermarkAlignment(group="a", max_drift_ms=3, interval_ms=250),
    4: WatermarkAlignment(group="b", max_drift_ms=0, interval_ms=100),
}


def running(sources: dict[int, WatermarkAlignment] = SOURCES) -> WatermarkAligner:
    aligner = WatermarkAligner(sources)
    aligner.started(0.0)
    return aligner


def test_each_source_hears_of_the_least_watermark_of_its_group_and_its_own_drift() -> None:
    aligner = running()
    aligner.reported(SubtaskId(0, 0), 70)
    aligner.reported(SubtaskId(0, 1), 60)
    aligner.reported(SubtaskId(1, 0), 50)
    aligner.reported(SubtaskId(4, 0), 7)
    assert aligner.announce(250.0) == {0: 60, 1: 53, 4: 7}


def test_each_source_hears_at_its_own_interval() -> None:
    aligner = running()
    aligner.reported(SubtaskId(1, 0), 50)
    assert aligner.wake_ms == 100.0
    assert aligner.announce(99.0) == {}
    assert aligner.announce(100.0) == {0: 60}
    assert aligner.wake_ms == 200.0
    assert aligner.announce(251.0) == {0: 60, 1: 53}


def test_a_subtask_without_a_watermark_holds_the_others_and_one_that_did_not_report_does_not() -> None:
    aligner = running()
    assert aligner.announce(100.0) == {}
    aligner.reported(SubtaskId(0, 0), 70)
    assert aligner.announce(200.0) == {0: 80}
    aligner.reported(SubtaskId(1, 0), MIN_TIMESTAMP)
    assert aligner.announce(300.0) == {0: MIN_TIMESTAMP + 10, 1: MIN_TIMESTAMP + 3}


def test_idle_and_ended_subtasks_are_not_waited_for_and_without_others_all_is_allowed() -> None:
    aligner = running()
    aligner.reported(SubtaskId(0, 0), 70)
    aligner.reported(SubtaskId(1, 0), None)
    assert aligner.announce(100.0) == {0: 80}
    aligner.subtask_ended(SubtaskId(0, 0))
    assert aligner.announce(200.0) == {0: MAX_TIMESTAMP}


def test_a_report_that_comes_behind_the_end_of_its_subtask_changes_nothing() -> None:
    aligner = running()
    aligner.reported(SubtaskId(0, 0), 70)
    aligner.subtask_ended(SubtaskId(1, 0))
    aligner.reported(SubtaskId(1, 0), 5)
    assert aligner.announce(100.0) == {0: 80}


def test_a_subtask_of_no_source_may_end() -> None:
    aligner = running()
    aligner.subtask_ended(SubtaskId(3, 0))
    aligner.reported(SubtaskId(0, 0), 70)
    assert aligner.announce(100.0) == {0: 80}


def test_an_attempt_begins_without_reports_and_nothing_is_announced_between_attempts() -> None:
    aligner = running()
    aligner.reported(SubtaskId(0, 0), 70)
    aligner.subtask_ended(SubtaskId(0, 1))
    aligner.ended()
    assert aligner.wake_ms is None
    assert aligner.announce(1_000.0) == {}
    aligner.started(1_000.0)
    assert aligner.announce(1_100.0) == {}
    aligner.reported(SubtaskId(0, 1), 20)
    assert aligner.announce(1_200.0) == {0: 30}


@dataclass
class Model:
    """All that was reported since the attempt began."""

    reports: dict[SubtaskId, int | None] = field(default_factory=dict)
    over: set[SubtaskId] = field(default_factory=set)

    def allowed(self, vertex: int) -> int | None:
        group = SOURCES[vertex].group
        known = [own for own in {*self.reports, *self.over} if SOURCES[own.vertex].group == group]
        awaited = [self.reports[own] for own in known if own not in self.over]
        least = min((each for each in awaited if each is not None), default=None)
        if not known:
            return None
        return MAX_TIMESTAMP if least is None else least + SOURCES[vertex].max_drift_ms


SUBTASKS = st.builds(SubtaskId, st.sampled_from(list(SOURCES)), st.integers(0, 2))
ACTION = st.one_of(
    st.tuples(st.just("report"), SUBTASKS, st.none() | st.integers(-50, 50)),
    st.tuples(st.just("end"), SUBTASKS),
    st.tuples(st.just("restart")),
    st.tuples(st.just("announce")),
)


@given(st.lists(ACTION, max_size=30))
def test_what_is_allowed_is_what_a_model_says_that_remembers_all_reports(actions: list[Any]) -> None:
    aligner, model, now_ms = running(), Model(), 0.0
    for action in actions:
        match action:
            case ("report", subtask, watermark_ms):
                aligner.reported(subtask, watermark_ms)
                model.reports[subtask] = watermark_ms
            case ("end", subtask):
                aligner.subtask_ended(subtask)
                model.over.add(subtask)
            case ("restart",):
                aligner.ended()
                aligner.started(now_ms)
                model = Model()
            case _:
                now_ms += 250.0
                expected = {vertex: model.allowed(vertex) for vertex in SOURCES}
                assert aligner.announce(now_ms) == {own: ms for own, ms in expected.items() if ms is not None}
