"""Keyed operators run compiled as they run in Python, whatever their functions do."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.common import Row
from headgate.config import Settings
from headgate.elements import Batch
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import UserCodeError
from headgate.options import NATIVE, OBJECT_REUSE, STATE_BACKEND
from headgate.state.descriptors import ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, Setup
from headgate.types.typeinfo import Types
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left

Step = tuple[str, Any]


COLLECTED: dict[str, Callable[[Any], Any]] = {
    "returns a list": list,
    "returns a tuple": tuple,
    "returns an iterator": iter,
}


class Hostile(KeyedProcessFunction):
    """Does for each record (key, way, steps) what it says, and returns the results in this way."""

    def __init__(self, way_of_state: str) -> None:
        self.type_info = Types.LONG() if way_of_state == "typed" else Types.PICKLED_BYTE_ARRAY()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("state", self.type_info))
        self.kept: list[Any] = []
        self.harness: OperatorHarness

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        _, way, steps = value
        results = self.results(value, steps, ctx)
        if way == "yields":
            return results
        if way == "returns nothing":
            for _ in results:
                pass
            return None
        if way == "returns a number":
            return len(list(results))
        made = COLLECTED[way](results)
        if way != "returns an iterator" and ("keeps the results", None) in steps:
            self.kept.append(made)
        return made

    def results(self, value: Any, steps: list[Step], ctx: Any) -> Iterator[Any]:
        for step, what in steps:
            if step == "raises":
                raise ValueError(what)
            if step == "updates":
                self.state.update(what)
            elif step == "clears":
                self.state.clear()
            elif step == "reads":
                yield self.state.value()
            elif step == "tells":
                yield (ctx.get_current_key(), ctx.timestamp() if self.timed else None)
            elif step == "emits":
                yield [what]
            elif step == "emits and keeps":
                self.kept.append([what])
                yield self.kept[-1]
            elif step == "emits what it got":
                yield value
            elif step == "processes another":
                self.harness.operator.process(Batch([what], [7] if self.timed else None, ["another"]))
            elif step == "sets a timer":
                ctx.timer_service().register_event_time_timer(what)
            elif step == "takes a snapshot":
                self.harness.barrier()
            elif step == "clears all cells":
                self.harness.operator._backend.cells.clear()  # type: ignore[attr-defined]
            elif step == "leaves":
                self.harness.operator._backend.leave()  # type: ignore[attr-defined]

    timed = False


WAYS = ("yields", "returns a list", "returns a tuple", "returns an iterator", "returns nothing", "returns a number")
ANY = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=2), st.just(Row(1, [2])), st.just((1, "a")))
STEPS = st.one_of(
    st.tuples(st.just("updates"), ANY),
    st.tuples(st.just("emits"), st.integers(0, 9)),
    st.tuples(st.just("emits and keeps"), st.integers(0, 9)),
    st.sampled_from([("reads", None), ("tells", None), ("clears", None), ("emits what it got", None)]),
    st.sampled_from([("sets a timer", 3), ("sets a timer", 2**70), ("keeps the results", None)]),
    st.sampled_from(
        [
            *(("raises", "no"), ("leaves", None), ("takes a snapshot", None)),
            ("processes another", (None, "returns nothing", [("updates", 5)])),
        ]
    ),
)
RECORDS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(WAYS), st.lists(STEPS, max_size=5).map(list)), min_size=1, max_size=8
)


def settings(native: str, **values: Any) -> Settings:
    made = Settings().with_value(NATIVE, native)
    return made.with_value(OBJECT_REUSE, values.get("reuse", False)).with_value(
        STATE_BACKEND, values.get("backend", "hashmap")
    )


def outcome(records: list[Any], timed: bool, settings: Settings, typed: str) -> list[Any]:
    """Return the results, errors, copies and state of a job whose function does these steps."""
    function = Hostile(typed)
    seen: list[Any] = []
    setup = Setup(settings=settings)
    with OperatorHarness.of(function, key_by=lambda record: record[0], setup=setup) as harness:
        running: Any = harness.operator._user.function  # type: ignore[attr-defined]
        running.harness, running.timed = harness, timed
        keys = [record[0] for record in records]
        batches = [(records[: len(records) // 2], keys[: len(records) // 2]), (records[len(records) // 2 :], None)]
        for some, own in batches:
            batch = Batch(list(some), list(range(len(some))) if timed else None, own or [each[0] for each in some])
            try:
                out = harness.operator.process(batch)
            except UserCodeError as error:
                seen.append((repr(error.record), repr(error.key), error.during, repr(error.__cause__)))
                seen.append([each is error.record for each in some])
            else:
                kept = {id(each) for each in running.kept}
                seen.append((repr(out.records), out.timestamps, [id(each) in kept for each in out.records]))
            harness.barrier()
        seen.append(repr(harness.state("state")))
        seen.append(harness.watermark(100))
        harness.operator.forget(harness.barrier())
    return seen


@given(RECORDS, st.booleans(), st.booleans(), st.sampled_from(["typed", "any"]))
def test_results_errors_and_state_are_those_of_the_python_path(
    records: list[Any], timed: bool, reuse: bool, typed: str
) -> None:
    compiled_module()
    there = outcome(records, timed, settings("off", reuse=reuse), typed)
    here = outcome(records, timed, settings("on", reuse=reuse), typed)
    assert here == there


@pytest.mark.slow
@given(RECORDS, st.booleans())
def test_the_same_on_rocksdb(records: list[Any], timed: bool) -> None:
    compiled_module()
    there = outcome(records, timed, settings("off", backend="rocksdb"), "any")
    assert outcome(records, timed, settings("on", backend="rocksdb"), "any") == there


class Emitting(KeyedProcessFunction):
    """Emits what `make` returns for a record, in the way that the record says, and keeps so much of it."""

    def process_element(self, value: tuple[str, str], ctx: KeyedProcessFunction.Context) -> Any:
        way, kept = value
        record = [1]
        made.append(id(record))
        if kept == "the record":
            self.record = record
        if way == "yields":
            return self.yielding([record])
        results: Any = [record] if way == "returns a list" else (record,)
        del record
        if kept == "the results":
            self.results = results
        return iter(results) if way == "returns an iterator" else results

    def yielding(self, records: list[Any]) -> Iterator[Any]:
        yield records.pop()


made: list[int] = []


@pytest.mark.parametrize("native", ["off", "on"])
@pytest.mark.parametrize("timed", [False, True])
def test_only_what_a_function_keeps_is_copied(native: str, timed: bool) -> None:
    compiled_module()
    setup = Setup(settings=settings(native))
    with OperatorHarness.of(Emitting(), key_by=lambda _: 0, setup=setup) as harness:
        for way in ("yields", "returns a list", "returns a tuple"):
            for kept in ("nothing", "the record", "the results"):
                batch = Batch([(way, kept)], [1] if timed else None, [0])
                (record,) = harness.operator.process(batch).records
                wanted = kept != "nothing" and (way, kept) != ("yields", "the results")
                assert (id(record) != made[-1]) == wanted, (way, kept)


class Keys:
    """A key whose hash or comparison fails."""

    def __init__(self, wrong: str) -> None:
        self.wrong = wrong

    def __hash__(self) -> int:
        if self.wrong == "hash":
            raise ValueError("no hash")
        return 1

    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")


@pytest.mark.parametrize("native", ["off", "on"])
@pytest.mark.parametrize(("keys", "message"), [([1, []], "unhashable"), ([1, Keys("hash")], "no hash")])
def test_the_record_of_a_bad_key_is_named(native: str, keys: list[Any], message: str) -> None:
    compiled_module()
    function = Hostile("any")
    records = [(1, "yields", [("updates", 1)]), ("bad", "yields", [])]
    for timestamps in (None, [1, 2]):
        with OperatorHarness.of(function, key_by=str, setup=Setup(settings=settings(native))) as harness:
            with pytest.raises(UserCodeError) as caught:
                harness.operator.process(Batch(records, timestamps, keys))
            assert caught.value.record is records[1]
            assert message in str(caught.value.__cause__)


class Emptied:
    """A backend with one cell for each key, and no more than a loop needs."""

    def __init__(self, native: Any) -> None:
        self.cells: dict[Any, Any] = {}
        self.generation = 1
        self.current = native.Current(None, [])
        self.entered: list[Any] = []

    def enter(self, key: Any, cell: Any) -> Any:
        self.entered.append((key, cell))
        made = self.cells[key] = [self.generation, 0, 0, key, None]
        return made


class Context:
    __slots__ = ("_timestamp",)

    def at(self, timestamp: int) -> Context:
        self._timestamp = timestamp
        return self


def test_a_cell_is_entered_when_it_is_new_or_older_than_the_last_barrier() -> None:
    native = compiled_module()
    backend = Emptied(native)
    loop = native.KeyedLoop(backend, list.extend)
    seen: list[Any] = []

    def call(value: Any, context: Any) -> None:
        seen.append((value, backend.current.cell is backend.cells["a"], context._timestamp))

    for generation in (1, 1, 2**80, 2**80 + 0):
        backend.generation = generation
        assert loop.run_timed(["a"], [5], iter("x"), call, Context()) == ([], [])
    assert [key for key, _ in backend.entered] == ["a", "a"]
    assert [cell is None for _, cell in backend.entered] == [True, False]
    assert seen == [("x", True, 5)] * 4
    backend.cells["a"] = "no cell"
    backend.enter = lambda key, cell: cell  # type: ignore[method-assign]
    loop = native.KeyedLoop(backend, list.extend)
    loop.run(["a"], iter("x"), lambda value, context: seen.append(backend.current.cell), Context())
    assert seen[-1] == "no cell"


def test_a_loop_ends_with_the_shorter_of_keys_and_records() -> None:
    native = compiled_module()
    loop = native.KeyedLoop(Emptied(native), list.extend)

    def call(value: Any, context: Any) -> list[Any]:
        return [value]

    assert loop.run(["a", "b"], iter("x"), call, Context()) == ["x"]
    assert loop.run(["a"], iter("xy"), call, Context()) == ["x"]
    assert loop.run_timed(["a", "b"], [1], iter("xy"), call, Context()) == (["x"], [1])
    keys, times = ["a"] * 3, [1] * 3

    def shrinks(value: Any, context: Any) -> list[Any]:
        keys.clear()
        times.clear()
        return [value]

    assert loop.run_timed(keys, times, iter("xyz"), shrinks, Context()) == (["x"], [1])


def test_any_function_may_append_the_results() -> None:
    native = compiled_module()
    added: list[Any] = []

    def extend(out: list[Any], results: Any) -> None:
        added.append(results)
        out.extend(results)

    loop = native.KeyedLoop(Emptied(native), extend)
    assert loop.run(["a", "a"], iter([[1], None]), lambda value, context: value, Context()) == [1]
    assert added == [[1]]


def test_a_loop_refuses_what_does_not_fit() -> None:
    native = compiled_module()
    backend = Emptied(native)
    loop = native.KeyedLoop(backend, list.extend)
    for wrong in ((("a",), iter("x")), (["a"], "x")):
        with pytest.raises(TypeError, match="lists of keys"):
            loop.run(*wrong, print, Context())
    with pytest.raises(TypeError, match="slot of the context"):
        loop.run_timed(["a"], [1], iter("x"), print, type("Bare", (), {"_timestamp": 5})())
    with pytest.raises(AttributeError, match="_timestamp"):
        loop.run_timed(["a"], [1], iter("x"), print, object())
    for method in (loop.run, loop.run_timed):
        with pytest.raises(TypeError, match="arguments"):
            method([])
    backend.cells = []  # type: ignore[assignment]
    with pytest.raises(TypeError, match="cells of a backend are a dict"):
        loop.run(["a"], iter("x"), print, Context())
    backend.current = object()
    with pytest.raises(TypeError, match=r"_native\.Current"):
        native.KeyedLoop(backend, list.extend)
    with pytest.raises(AttributeError, match="current"):
        native.KeyedLoop(object(), list.extend)


def test_a_loop_is_collected_with_what_it_refers_to() -> None:
    native = compiled_module()
    backend: Any = Emptied(native)

    class Extends:
        def __call__(self, out: list[Any], results: list[Any]) -> None:
            pass

    extends: Any = Extends()
    extends.loop = backend.loop = native.KeyedLoop(backend, extends)
    backend.current.cell = [backend]
    seen = weakref.ref(backend), weakref.ref(extends)
    del backend, extends
    gc.collect()
    assert [each() for each in seen] == [None, None]


@pytest.mark.parametrize("native", ["off", "on"])
def test_no_reference_is_left_behind(native: str) -> None:
    compiled_module()
    shared = ["shared"]

    def all_ways(harness: OperatorHarness) -> None:
        for way in WAYS:
            steps = [("updates", shared), ("reads", None), ("emits", shared), ("clears", None), ("updates", shared)]
            for timestamps in (None, [1]):
                for more in ([], [("raises", "no")]):
                    batch = Batch([(1, way, steps + more)], timestamps, [1])
                    with contextlib.suppress(UserCodeError):
                        harness.operator.process(batch)

    setup = Setup(settings=settings(native))
    with OperatorHarness.of(Hostile("any"), key_by=lambda record: record[0], setup=setup) as harness:
        check_nothing_is_left(partial(all_ways, harness), 200, [shared])


@pytest.mark.parametrize("way", WAYS[:4])
def test_cells_may_go_while_a_record_is_processed(way: str) -> None:
    """The backend does not survive this, in Python neither; the process does."""
    compiled_module()
    setup = Setup(settings=settings("on"))
    harness = OperatorHarness.of(Hostile("any"), key_by=lambda record: record[0], setup=setup)
    harness.open()
    running: Any = harness.operator._user.function  # type: ignore[attr-defined]
    running.harness = harness
    steps = [("updates", [1]), ("clears all cells", None), ("reads", None), ("updates", [2]), ("reads", None)]
    try:
        out = harness.operator.process(Batch([(1, way, steps), (1, way, steps)], None, [1, 1]))
        assert out.records == [[1], [2], [1], [2]]
    except KeyError:
        pass  # a cell that is to be dropped is gone
