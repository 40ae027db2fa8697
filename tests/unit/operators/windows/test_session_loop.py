"""Records are added to sessions, and sessions taken out, compiled as in Python, whatever a program's functions do."""

from __future__ import annotations

import contextlib
import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields, replace
from itertools import cycle
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.datastream import AggregateFunction, DataStream, OutputTag
from headgate.datastream.window import EventTimeSessionWindows
from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.operators.base import UserCodeError
from headgate.operators.windows.session_loop import SessionLoop, SessionSteps, session_loop
from headgate.testing.harness import OperatorHarness, Setup
from tests.compiled import compiled_module
from tests.unit.operators.test_compiled_keyed import settings
from tests.unit.operators.windows.test_sessions import Spanned

LATE = OutputTag("late")
GAP_MS = 10


class Gathered(AggregateFunction):
    """Gathers values in a list; a value may make it fail, or return None."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> Any:
        if value[1] == "fails":
            raise ValueError("no")
        accumulator.append(value[1])
        return None if value[1] == "none" else accumulator

    def get_result(self, accumulator: list[Any]) -> Any:
        if "fails later" in accumulator:
            raise ValueError("later")
        return None if "nothing" in accumulator else list(accumulator)

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


KEYS = st.sampled_from(["a", "b", 3, (1, "c")])
TIMES = st.integers(-20, 90) | st.sampled_from([2**63 - 1, 2**63 - GAP_MS, 2**63 - GAP_MS - 1, -(2**63), 10**9])
VALUES = st.integers(0, 9) | st.sampled_from(["fails", "none", "nothing", "fails later"])
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("records"), st.lists(st.tuples(KEYS, VALUES, TIMES), min_size=1, max_size=8)),
        st.tuples(st.just("records"), st.lists(st.tuples(KEYS, st.just(1), st.integers(0, 90)), max_size=8)),
        st.tuples(st.just("watermark"), st.integers(-5, 120)),
        st.sampled_from([("restore", None), ("barrier", None)]),
    ),
    max_size=10,
)


def outcome(events: list[Any], paths: tuple[str, ...], backend: str, lateness: int, function: Any) -> list[Any]:
    """Return the results and errors of a job that goes on in the next path at each restore."""

    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda record: record[0]).window(EventTimeSessionWindows(GAP_MS))
        windows = windows.allowed_lateness(lateness).side_output_late_data(LATE)
        return windows.aggregate(Gathered()) if function is None else windows.aggregate(Gathered(), function)

    seen: list[Any] = []
    restored: list[Any] = []
    path = cycle(paths)
    left = iter([*events, ("watermark", MAX_TIMESTAMP), ("restore", None)])
    for _ in range(1 + sum(event == "restore" for event, _ in events)):
        setup = Setup(settings=settings(next(path), backend=backend))
        with OperatorHarness.of_stream(build, restored=restored, setup=setup) as harness:
            for event, what in left:
                if event == "restore":
                    restored = [harness.snapshot()]
                    break
                try:
                    if event == "barrier":
                        harness.operator.forget(harness.barrier())
                    elif event == "watermark":
                        seen.append(repr(harness.watermark(what, 3)))
                    else:
                        records = [(key, value) for key, value, _ in what]
                        out = harness.process_batch(Batch(records, [time for _, _, time in what]))
                        seen.append((repr(out.records), out.timestamps))
                except UserCodeError as error:
                    seen.append((repr(error.record), repr(error.key), error.during, repr(error.__cause__)))
                seen.append((harness.side(LATE), harness.operator._windows.count_open()))  # type: ignore[attr-defined]
    return seen


FUNCTIONS = st.sampled_from([None, Spanned()])


@given(EVENTS, st.sampled_from([0, 15]), FUNCTIONS)
def test_sessions_are_those_of_the_python_path(events: list[Any], lateness: int, function: Any) -> None:
    compiled_module()
    wanted = outcome(events, ("off",), "hashmap", lateness, function)
    assert outcome(events, ("on",), "hashmap", lateness, function) == wanted
    assert outcome(events, ("on", "off"), "hashmap", lateness, function) == wanted


@pytest.mark.slow
@given(EVENTS, FUNCTIONS)
def test_the_same_on_rocksdb(events: list[Any], function: Any) -> None:
    compiled_module()
    wanted = outcome(events, ("off",), "rocksdb", 0, function)
    assert outcome(events, ("on", "off"), "rocksdb", 0, function) == wanted


# --- the loops by themselves

CELLS = st.sampled_from(
    [
        [None, None, None, None],
        [0, 10, "v", None],
        [0, 10, None, None],
        [None, None, None, [(0, 10, "v", True)]],
        [20, 30, "v", [(0, 10, "v", False)]],
        [0, 2**63, "v", None],
        [20, 30, "v", [(0, 10, "v", False), (12, 15, "w", True)]],
        [20, 30, "v", []],
        ["no time", 10, "v", None],
        [0, "no time", "v", None],
        [0],
    ]
)


class Steps:
    """Cells, and the functions that note what they were called with. A function cuts cells when its value says so."""

    def __init__(self, cells: dict[Any, list[Any]], keeps: bool) -> None:
        self.asked: list[Any] = []
        self.cells = {key: [1, 0, 0, key, *deepcopy(cell)] for key, cell in cells.items()}
        self.backend = SimpleNamespace(
            cells=self.cells, generation=1, enter=self.enter, emptied=[], prefetch=self.noting("prefetch")
        )
        self.steps = SessionSteps(
            backend=cast("Any", self.backend),
            start=4,
            end=5,
            value=6,
            others=7,
            gap_ms=GAP_MS,
            gap_of=lambda _: GAP_MS,
            first=self.first,
            more=lambda value, so_far: self.first(f"{so_far}, {value}"),
            note=self.noting("note"),
            drop=self.noting("drop"),
            merge=self.noting("merge"),
            take=self.noting("take", lambda key, cell, time: (0, 1, key, True) if key == "a" else None),
            keeps=keeps,
        )

    def noting(self, name: str, then: Callable[..., Any] = lambda *_: None) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.asked.append((name, repr(arguments)))
            return then(*arguments)

        return call

    def enter(self, key: Any, cell: Any) -> list[Any]:
        self.asked.append(("enter", key))
        made = self.cells[key] = [1, 0, 0, key, None, None, None, None] if cell is None else cell
        made[0] = 1
        return made

    def first(self, value: Any) -> Any:
        if "fails" in value:
            raise ValueError(value)
        if "cuts" in value:
            for cell in self.cells.values():
                del cell[4:]
        return None if value == "none" else value

    def done(self, loop: SessionLoop, records: list[Any], watermark_ms: int, due: list[Any]) -> list[Any]:
        keys, times, values = ([each[at] for each in records] for at in range(3))
        position = iter(values)
        results: list[Any] = []
        for call in (lambda: loop.add(keys, times, position, watermark_ms), lambda: loop.take(iter(due))):
            try:
                results.append(repr(call()))
            except (ValueError, TypeError, IndexError) as error:
                results.append(type(error))
        return [*results, len(list(position)), self.asked, repr(self.cells), repr(self.backend.emptied)]


@given(
    st.dictionaries(st.sampled_from(["a", "b"]), CELLS),
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "new"]), TIMES, st.sampled_from(["x", "y", "none", "fails", "cuts all cells"])
        ),
        max_size=6,
    ),
    TIMES,
    st.lists(st.tuples(TIMES, st.lists(st.sampled_from(["a", "b", "new"]), max_size=3)), max_size=4),
    st.booleans(),
)
def test_the_loops_do_what_they_do_in_python(
    cells: dict[Any, list[Any]], records: list[Any], watermark_ms: int, due: list[Any], keeps: bool
) -> None:
    native = compiled_module()
    there, here = Steps(cells, keeps), Steps(cells, keeps)
    wanted = there.done(session_loop(None, there.steps), records, watermark_ms, due)
    assert here.done(session_loop(native, here.steps), records, watermark_ms, due) == wanted


def test_sessions_whose_gap_depends_on_the_record_or_has_no_64_bits_run_in_python() -> None:
    native = compiled_module()
    steps = Steps({}, keeps=False).steps
    assert type(session_loop(native, steps)) is native.SessionLoop
    assert type(session_loop(native, replace(steps, gap_ms=0))) is SessionLoop
    assert type(session_loop(native, replace(steps, gap_ms=2**63))) is SessionLoop


def test_a_loop_refuses_what_does_not_fit() -> None:
    native = compiled_module()
    steps = Steps({}, keeps=False).steps
    loop = native.SessionLoop(steps, None)
    with pytest.raises(TypeError, match="arguments"):
        loop.add([])
    for wrong in ([5], [(5, ("a",))], [(5,)], 5):
        with pytest.raises(TypeError):
            loop.take(wrong)
    with pytest.raises(OverflowError):
        loop.add([], [], iter([]), 2**70)
    with pytest.raises(TypeError):
        loop.add([], [], 5, 0)
    with pytest.raises(ValueError, match="a gap, and columns"):
        native.SessionLoop(replace(steps, start=-1), None)
    values = {field.name: getattr(steps, field.name) for field in fields(steps)}
    for name in values.keys() - {"gap_of"}:
        lacking = SimpleNamespace(**{key: value for key, value in values.items() if key != name})
        with pytest.raises(AttributeError, match=name):
            native.SessionLoop(lacking, None)
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(loop)
    steps.backend.cells = []  # type: ignore[assignment]
    with pytest.raises(TypeError, match="cells of a backend are a dict"):
        loop.take([])


def test_a_loop_is_collected_with_what_it_refers_to() -> None:
    native = compiled_module()
    owner = Steps({}, keeps=False)
    owner.asked.append(session_loop(native, owner.steps))
    seen = weakref.ref(owner)
    del owner
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize(("value", "is_known"), [(7, False), ("a", False), ([1], True), (([1],), True)])
def test_the_collector_visits_no_sessions_that_refer_to_no_container(value: Any, is_known: bool) -> None:
    steps = Steps({"a": [0, 10, value, None]}, keeps=False)
    session_loop(compiled_module(), replace(steps.steps, first=lambda value: value)).add(["a"], [50], iter(["x"]), 0)
    (session,) = steps.cells["a"][7]
    assert (session, gc.is_tracked(session)) == ((0, 10, value, False), is_known)


def test_a_loop_asks_for_attributes_by_the_same_strings_each_time() -> None:
    """Python keeps thousands of the strings by which attributes were looked up, and finds attributes by these."""
    asked: list[str] = []

    class Backend(SimpleNamespace):
        def __getattribute__(self, name: str) -> Any:
            asked.append(name)
            return super().__getattribute__(name)

    steps = Steps({}, keeps=False)
    backend: Any = Backend(**vars(steps.backend))
    loop = session_loop(compiled_module(), replace(steps.steps, backend=backend))
    loop.add([], [], iter([]), 0)
    loop.take([(5, ["a"])])
    assert {"cells", "prefetch", "emptied"} <= set(asked)
    assert all(name is sys.intern(name) for name in asked)


def test_no_reference_is_left_behind() -> None:
    native = compiled_module()
    key, value, time = ("key", 1), "".join(["a value"]), 10**6

    def all_ways() -> None:
        for keeps in (False, True):
            for cell in ([None] * 4, [time, time + 5, value, None], [time, time + 5, value, [(0, 10, value, True)]]):
                owner = Steps({key: cell}, keeps)
                loop = session_loop(native, owner.steps)
                records = [
                    (key, time, value),
                    (key, time + 3, value),
                    (key, 2 * time, value),
                    (key, 2**63 - 1, "fails"),
                ]
                for some in (records, records[:2]):
                    owner.done(loop, some, 0, [(3 * time, [key, key, "new"])])
                with contextlib.suppress(ValueError):
                    loop.add([key], [5 * time], iter(["fails"]), 0)

    def references() -> list[int]:
        gc.collect()
        return [sys.getrefcount(each) for each in (key, value, time)]

    all_ways()
    before = references()
    for _ in range(100):
        all_ways()
    assert references() == before
