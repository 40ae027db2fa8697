"""Operators with pending inputs, whatever order the results come in, against a model."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.elements import Batch, Watermark, WatermarkStatus
from headgate.operators.base import Operator
from headgate.operators.pending import PendingInput, PendingOperator
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup

IDLE = WatermarkStatus(idle=True)


class Asking(PendingOperator):
    """Has the test answer: `asked` are the inputs that were begun and not answered."""

    def __init__(self, capacity: int = 3, *, ordered: bool = True, keyed: bool = False) -> None:
        super().__init__(capacity, ordered=ordered, keyed=keyed)
        self.asked: list[PendingInput] = []

    def begin(self, pending: PendingInput) -> None:
        self.asked.append(pending)

    def answer(self, index: int = 0, *results: Any) -> None:
        """Answer one of those that were asked, with its record unless there are other results."""
        pending = self.asked.pop(index)
        self.done(pending, list(results or [pending.record]))

    @property
    def records_asked(self) -> list[Any]:
        return [pending.record for pending in self.asked]


class Factory:
    """Makes the operator, and keeps a hand on it."""

    def __init__(self, operator: Asking) -> None:
        self.operator = operator

    def create(self) -> Operator:
        return self.operator


def opened(operator: Asking, restored: tuple[SavedOperator, ...] = (), setup: Setup | None = None) -> OperatorHarness:
    harness = OperatorHarness(Factory(operator), restored=restored, setup=setup, key_by=lambda record: record)
    harness.open()
    return harness


def left(operator: PendingOperator) -> list[Any]:
    """What leaves the operator now: records, and control elements as they are."""
    out: list[Any] = []
    while operator.woken:
        for flow in operator.resume(2):
            out += flow.records if isinstance(flow, Batch) else [flow]
    return out


def test_at_most_as_many_are_begun_as_there_is_capacity() -> None:
    operator = Asking(capacity=2)
    harness = opened(operator)
    assert harness.process("a", "b", "c") == []
    assert (operator.records_asked, operator.room) == (["a", "b"], -1)
    operator.answer()
    assert left(operator) == ["a"]
    assert (operator.records_asked, operator.room) == (["b", "c"], 0)


def test_results_in_order_wait_for_those_before() -> None:
    operator = Asking()
    opened(operator).process("a", "b", "c")
    operator.answer(2)
    operator.answer(1)
    assert left(operator) == []
    operator.answer(0, "a1", "a2")
    assert left(operator) == ["a1", "a2", "b", "c"]


def test_results_without_order_leave_as_they_come_but_not_past_a_watermark() -> None:
    operator = Asking(capacity=9, ordered=False)
    harness = opened(operator)
    harness.process("a", "b")
    assert operator.hold(Watermark(7))
    harness.process("c", "d")
    operator.answer(2)
    operator.answer(1)
    assert left(operator) == ["b"]
    operator.answer(0)
    assert left(operator) == ["a", Watermark(7), "c"]
    assert operator.hold(IDLE)
    operator.answer()
    assert left(operator) == ["d", IDLE]
    assert not operator.has_pending
    assert not operator.hold(Watermark(8)), "nothing is pending that it could wait for"


def test_timestamps_stay_with_the_results() -> None:
    operator = Asking()
    operator.context = opened(operator).operator.context
    operator.process(Batch(["a", "b"], [1, 2]))
    operator.answer(0, "a1", "a2")
    operator.answer()
    (batch,) = operator.resume(9)
    assert isinstance(batch, Batch)
    assert (batch.records, batch.timestamps) == (["a1", "a2", "b"], [1, 1, 2])


def test_what_is_pending_is_begun_again_after_a_restore() -> None:
    operator = Asking(capacity=2)
    harness = opened(operator)
    harness.process("a", "b", "c")
    operator.answer(1)
    restored = Asking(capacity=2)
    opened(restored, (harness.snapshot(),))
    assert (restored.records_asked, restored.room) == (["a", "b"], -1), "b was answered, but had not left"


@given(
    records=st.lists(st.integers(0, 50), max_size=30),
    before=st.integers(1, 4),
    after=st.integers(1, 4),
)
def test_by_key_each_pending_input_goes_to_the_owner_of_its_key(records: list[int], before: int, after: int) -> None:
    saved = []
    for subtask in range(before):
        harness = opened(Asking(keyed=True), setup=Setup(subtask=subtask, parallelism=before))
        harness.process(*[record for record in records if harness.owns(record)])
        saved.append(harness.snapshot())
    found: list[int] = []
    for subtask in range(after):
        operator = Asking(100, keyed=True)
        harness = opened(operator, tuple(saved), Setup(subtask=subtask, parallelism=after))
        assert all(map(harness.owns, operator.records_asked))
        found += operator.records_asked
    of_key = [list(group) for _, group in groupby(sorted(records))]
    assert sorted(found) == [record for group in of_key for record in group]


def is_a_watermark(element: Any) -> bool:
    return isinstance(element, Watermark)


EVENTS = st.one_of(st.integers(0, 3), st.just("watermark"), st.just("answer"), st.just("restore"))


@given(events=st.lists(EVENTS, max_size=60), ordered=st.booleans(), picks=st.randoms(use_true_random=False))
def test_every_record_leaves_once_between_its_watermarks(events: list[Any], ordered: bool, picks: Any) -> None:
    operator, fed = Asking(ordered=ordered), 0
    out: list[Any] = []
    segments: list[list[int]] = [[]]
    harness = opened(operator)
    for event in events:
        if event == "answer" and operator.asked:
            operator.answer(picks.randrange(len(operator.asked)))
        elif event == "watermark":
            segments.append([])
            if not operator.hold(Watermark(fed)):
                out.append(Watermark(fed))
        elif event == "restore":
            out += left(operator)
            out += [each for each in (segment.end for segment in operator._segments) if each is not None]
            saved = harness.snapshot()
            operator = Asking(ordered=ordered)
            harness = opened(operator, (saved,))
            segments.append([])  # watermarks are not restored: what is pending may leave after later ones
        elif isinstance(event, int):
            segments[-1] += range(fed, fed + event)
            harness.process(*range(fed, fed + event))
            fed += event
        out += left(operator)
        assert operator.room == 3 - len([each for segment in operator._segments for each in segment.inputs])
    while operator.asked:
        operator.answer(picks.randrange(len(operator.asked)))
        out += left(operator)
    records = [each for each in out if not isinstance(each, Watermark)]
    assert sorted(records) == list(range(fed))
    if ordered:
        assert records == sorted(records)
    if "restore" not in events:
        parts = [
            list(group) for is_record, group in groupby(out, lambda each: not isinstance(each, Watermark)) if is_record
        ]
        assert [sorted(part) for part in parts] == [segment for segment in segments if segment]
    assert not operator.has_pending
