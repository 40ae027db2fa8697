"""Timers run compiled as they run in Python, whatever functions do when timers fire."""

from __future__ import annotations

import contextlib
import gc
import pickle
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import cycle
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.errors import StateAccessError
from headgate.functions.api import KeyedProcessFunction
from headgate.operators.base import UserCodeError
from headgate.state.backend import open_backend
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keyed.timer_index import NEVER
from headgate.testing.harness import OperatorHarness, Setup
from headgate.time.timers import EVENT_TIMERS, timers_of
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left
from tests.unit.operators.test_compiled_keyed import settings
from tests.unit.state.backends import at, context_of

Step = tuple[str, Any]


class Hostile(KeyedProcessFunction):
    """Does for each record (key, steps), and for each timer of `plans`, what the steps say."""

    def __init__(self) -> None:
        self.harness: OperatorHarness
        self.plans: dict[tuple[Any, int], list[Step]] = {}

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        return self.done(value[1], ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        key = ctx.get_current_key()
        results = [(key, timestamp, ctx.timestamp(), ctx.time_domain().name)]
        return [*results, *self.done(self.plans.pop((key, timestamp), []), ctx)]

    def done(self, steps: list[Step], ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        for step, what in steps:
            if step == "plans":
                time, *more = what
                self.plans[ctx.get_current_key(), time] = more
                timers.register_event_time_timer(time)
            elif step == "sets":
                timers.register_event_time_timer(what)
            elif step == "sets processing":
                timers.register_processing_time_timer(what)
            elif step == "deletes":
                timers.delete_event_time_timer(what)
            elif step == "deletes processing":
                timers.delete_processing_time_timer(what)
            elif step == "asks":
                yield timers.earliest_event_time_timer()
            elif step == "raises":
                raise ValueError(what)
            elif step == "fires":
                yield self.harness.operator.advance(what, 100)
            elif step == "processes":
                yield self.harness.operator.process(Batch([what], [7], [what[0]])).records
            elif step == "takes a snapshot":
                self.harness.barrier()
            elif step == "leaves":
                self.harness.operator._backend.leave()  # type: ignore[attr-defined]


KEYS = st.sampled_from([0, 1, "b", ("t", 2)])
TIMES = st.integers(0, 12) | st.sampled_from([-5, 4095, 4096, 9000, 2**63 - 1, -(2**63)])


class Moment(IntEnum):
    FIVE = 5


class NoIndex:
    """A number that is none."""

    def __index__(self) -> Any:
        return 5.5  # noqa: PLE0305  # that is the point

    def __repr__(self) -> str:
        return "NoIndex()"


ODD_TIMES = st.sampled_from([True, Moment.FIVE, NoIndex(), 5.0, 5.5, 2**63, -(2**70), "5", None])
STEPS = st.one_of(
    st.tuples(st.sampled_from(["sets", "deletes", "sets processing", "deletes processing"]), TIMES),
    st.tuples(st.sampled_from(["sets", "deletes"]), TIMES | ODD_TIMES),
    st.sampled_from([("asks", None), ("raises", "no"), ("takes a snapshot", None), ("leaves", None)]),
    st.tuples(st.just("fires"), TIMES),
    st.tuples(st.just("processes"), st.tuples(KEYS, st.lists(st.tuples(st.just("sets"), TIMES), max_size=2))),
)
PLANS = st.tuples(TIMES, STEPS, STEPS).map(lambda plan: ("plans", plan))
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("process"), st.lists(st.tuples(KEYS, st.lists(STEPS | PLANS, max_size=4)), max_size=4)),
        st.tuples(st.just("watermark"), st.tuples(TIMES, st.integers(1, 5))),
        st.tuples(st.just("advance"), st.integers(0, 9)),
        st.just(("restore", None)),
    ),
    max_size=10,
)


def happened(harness: OperatorHarness, event: str, what: Any) -> Any:
    if event == "advance":
        return harness.advance_time(what)
    if event == "watermark":
        return harness.watermark(*what)
    return harness.operator.process(Batch(what, None, [record[0] for record in what])).records


def outcome(events: list[Any], paths: tuple[str, ...], backend: str) -> list[Any]:
    """Return the results, errors and snapshots of a job that goes on in the next path at each restore."""
    seen: list[Any] = []
    plans: dict[Any, Any] = {}
    restored: list[Any] = []
    path = cycle(paths)
    left = iter([*events, ("watermark", (MAX_TIMESTAMP, 1000)), ("end", None)])
    event = "begin"
    while event != "end":
        setup = Setup(settings=settings(next(path), backend=backend))
        with OperatorHarness.of(Hostile(), key_by=lambda value: value[0], restored=restored, setup=setup) as harness:
            function: Any = harness.operator._user.function  # type: ignore[attr-defined]
            function.harness, function.plans = harness, plans
            for event, what in left:
                if event in ("restore", "end"):
                    saved = harness.snapshot()
                    restored = [saved]
                    if backend == "hashmap":
                        assert saved.keyed is None or b"_native" not in repr(saved.keyed).encode()
                        seen.append(repr(saved.keyed))
                    break
                try:
                    seen.append(repr(happened(harness, event, what)))
                except UserCodeError as error:
                    seen.append((repr(error.key), repr(error.record), error.during, repr(error.__cause__)))
                except Exception as error:  # noqa: BLE001  # whatever it is, the other path does the same
                    seen.append(repr(error))
                seen.append(harness.operator.wake_ms)
    return seen


@given(EVENTS)
def test_timers_fire_as_in_python(events: list[Any]) -> None:
    compiled_module()
    wanted = outcome(events, ("off",), "hashmap")
    assert outcome(events, ("on",), "hashmap") == wanted
    assert outcome(events, ("on", "off"), "hashmap") == wanted
    assert outcome(events, ("off", "on"), "hashmap") == wanted


@pytest.mark.slow
@given(EVENTS)
def test_the_same_on_rocksdb(events: list[Any]) -> None:
    compiled_module()
    wanted = outcome(events, ("off",), "rocksdb")
    assert outcome(events, ("on", "off"), "rocksdb") == wanted


@pytest.mark.parametrize("native", ["off", "on"])
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_time_that_is_no_number_is_deleted_like_the_number_it_equals(native: str, backend: str) -> None:
    compiled_module()
    setup = Setup(settings=settings(native, backend=backend))
    with OperatorHarness.of(Hostile(), key_by=lambda value: value[0], setup=setup) as harness:
        steps = [("sets", 5), ("sets", 6), ("deletes", 5.0), ("deletes", 7.5), ("asks", None)]
        assert harness.process((0, steps)) == [6]
        assert harness.watermark(10) == [(0, 6, 6, "EVENT_TIME")]


@pytest.mark.parametrize("native", ["off", "on"])
def test_timers_need_a_current_key(native: str) -> None:
    compiled_module()
    setup = Setup(settings=settings(native))
    with OperatorHarness.of(Hostile(), key_by=lambda value: value[0], setup=setup) as harness:
        harness.process((0, [("sets", 5)]))
        timers = harness.operator._context.timers  # type: ignore[attr-defined]
        for change in (timers.register_event_time_timer, timers.delete_event_time_timer):
            with pytest.raises(StateAccessError, match="without a current key"):
                change(6)
        with pytest.raises(StateAccessError, match="without a current key"):
            timers.earliest_event_time_timer()


def test_closed_timers_are_kept_and_do_not_fire() -> None:
    compiled_module()
    for choice in ("on", "off"):
        backend = HashMapBackend(context_of(settings=settings(choice)))
        timers = timers_of(backend, EVENT_TIMERS)
        with at(backend, "key"):
            timers.register(3)
            timers.is_closed = True
            timers.register(1)
            timers.is_closed = False
            assert timers.earliest() == 1
        assert (timers.head_ms, timers.count_times()) == (3, 1)
        assert list(timers.due(5, 5)) == [3]
        assert timers.head_ms == NEVER


class Prying:
    """A key that runs a program when it is hashed or compared."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        self.pry()
        return 1

    def __eq__(self, other: object) -> bool:
        self.pry()
        return self is other

    def pry(self) -> None:
        step = prying.pop() if prying else None
        if step is not None:
            method, *arguments = step
            with contextlib.suppress(ValueError, RuntimeError, KeyError, IndexError):
                getattr(index_of[0], method)(*arguments)


prying: list[tuple[Any, ...]] = []
index_of: list[Any] = []
PRIED = [Prying(number) for number in range(3)]
CHANGES = st.one_of(
    st.tuples(st.sampled_from(["add", "remove"]), st.sampled_from([0, 1, 5000]), st.sampled_from(PRIED)),
    st.tuples(st.just("pop"), st.integers(1, 3)),
)


@given(st.lists(CHANGES, max_size=30), st.lists(CHANGES, max_size=10))
def test_keys_may_change_the_index_while_it_looks_at_them(
    changes: list[tuple[Any, ...]], more: list[tuple[Any, ...]]
) -> None:
    """The index is wrong then, in Python too; the process survives."""
    index_of[:] = [compiled_module().HeapTimerIndex()]
    prying[:] = more
    for method, *arguments in changes:
        with contextlib.suppress(ValueError, RuntimeError, KeyError):
            getattr(index_of[0], method)(*arguments)
    prying.clear()


def test_no_reference_is_left_behind() -> None:
    native = compiled_module()
    keys = [("key", number) for number in range(5)]
    setup = Setup(settings=settings("on"))
    kept = ("sets", 10**6)  # a cell without timers would go at some time
    steps = [kept, *(("sets", time) for time in (3, 3, 5000)), ("deletes", 5000), ("deletes", 9), ("sets", "odd")]

    def all_ways(harness: OperatorHarness) -> None:
        for key in keys:
            with contextlib.suppress(UserCodeError):
                harness.operator.process(Batch([(key, steps)], None, [key]))
        harness.operator._user.function.plans = {(keys[1], 3): [("raises", "no")]}  # type: ignore[attr-defined]
        with contextlib.suppress(UserCodeError):
            harness.watermark(10)
        harness.watermark(10)

    with OperatorHarness.of(Hostile(), key_by=lambda value: value[0], setup=setup) as harness:
        all_ways(harness)
        assert type(harness.operator._context.timers.event) is native.Timers  # type: ignore[attr-defined]
        check_nothing_is_left(partial(all_ways, harness), 200, keys)


def test_timers_refuse_what_does_not_fit() -> None:
    native = compiled_module()
    current = native.Current([0, 0, 0, "key", 5], [])
    index = native.HeapTimerIndex()
    backend = SimpleNamespace(current=current, timers=lambda name: (4, index), cells={}, generation=1, enter=None)
    timers = native.Timers(backend, "name", None, int)
    for call in (lambda: timers.register(5), lambda: timers.delete(5), timers.earliest):
        with pytest.raises(TypeError, match="the timers of a key are a dict"):
            call()
    backend.cells = {"key": (1, 0, 0, "key", {3: None})}
    index.add(3, "key")
    with pytest.raises(TypeError):
        list(timers.due(5, 5))
    backend.cells = []
    with pytest.raises(TypeError, match="cells of a backend are a dict"):
        timers.due(5, 5)
    for wrong in ((), (1,), (1, 2, 3, 4)):
        with pytest.raises(TypeError, match="arguments"):
            timers.due(*wrong)
    with pytest.raises(ValueError, match="no timers"):
        native.HeapTimerIndex().pop(1)
    with pytest.raises(TypeError):
        index.add("5", "key")
    backend.current = object()
    with pytest.raises(TypeError, match=r"_native\.Current"):
        native.Timers(backend, "name", None, int)
    with pytest.raises(TypeError):
        native.Timers(backend)


@dataclass(eq=False)
class CallsBack:
    """A key that calls back once, when it is compared."""

    number: int
    back: ClassVar[Callable[[], Any] | None] = None

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        back, CallsBack.back = CallsBack.back, None
        if back is not None:
            back()
        return isinstance(other, CallsBack) and self.number == other.number


@pytest.mark.parametrize("native", ["off", "on"])
def test_due_timers_are_not_taken_while_they_are_taken(native: str) -> None:
    compiled_module()
    backend = open_backend(context_of(settings={"headgate.native": native}))
    timers = timers_of(backend, EVENT_TIMERS)
    for key in map(CallsBack, range(3)):
        backend.current.cell = backend.enter(key, backend.cells.get(key))
        timers.register(5)
    due = timers.due(10, 100)
    CallsBack.back = lambda: next(due)
    with pytest.raises(ValueError, match="already"):
        list(due)


def test_timers_of_any_index_fire() -> None:
    native = compiled_module()
    popped = iter([(3, ("key", "gone", "key")), (4, ())])
    index = SimpleNamespace(head_ms=3, pop=lambda limit: next(popped), add=lambda *_: None, remove=lambda *_: None)
    cell = [1, 0, 0, "key", {3: None}]
    backend = SimpleNamespace(
        current=native.Current([], []),
        timers=lambda name: (4, index),
        cells={"key": cell, "gone": [1, 0, 0, "gone", None]},
        generation=1,
        enter=None,
    )
    due = native.Timers(backend, "name", None, int).due(5, 4)
    assert next(due) == 3
    assert backend.current.cell is cell
    assert backend.current.emptied == [cell]
    assert list(due) == []
    assert cell[4] is None


def test_timers_are_collected_with_what_they_refer_to() -> None:
    native = compiled_module()

    class Key:
        pass

    backend: Any = HashMapBackend(context_of(settings=settings("on")))
    timers: Any = timers_of(backend, EVENT_TIMERS)
    key: Any = Key()
    key.timers = timers
    backend.timers(EVENT_TIMERS)[1].add(5, key)
    key.due = timers.due(10, 10)
    seen = weakref.ref(key)
    for each in (timers, backend.timers(EVENT_TIMERS)[1]):
        assert type(each) in (native.Timers, native.HeapTimerIndex)
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(each)
    with pytest.raises(TypeError):
        type(key.due)()
    del key, timers, backend, each
    gc.collect()
    assert seen() is None


def test_timers_that_are_put_off_for_ever_need_bounded_memory() -> None:
    index = compiled_module().HeapTimerIndex()
    tracemalloc.start()
    try:
        for time in range(20_000):
            index.add(time, "key")
            index.remove(time - 1, "key")
        for time in range(20_000, 0, -1):
            index.add(-time, "key")
            index.remove(-time, "key")
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(index) == 1
    assert kept_bytes < 80_000
