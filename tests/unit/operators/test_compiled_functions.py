"""Map, filter, flat map, reduce and their kin run compiled as they run in Python, whatever their functions do."""

from __future__ import annotations

import contextlib
import gc
import pickle
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.config import Settings
from headgate.datastream import CoFlatMapFunction, CoMapFunction, DataStream, ProcessFunction
from headgate.elements import Batch
from headgate.errors import ProgramError, SerializationError
from headgate.functions.record_errors import RecordErrors
from headgate.operators.base import UserCodeError
from headgate.operators.calls import expect_records
from headgate.options import NATIVE, OBJECT_REUSE
from headgate.testing.harness import OperatorHarness, Setup
from headgate.types.typeinfo import Types
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left
from tests.unit.state.backends import backend_of

kept: list[Any] = []
"""What functions keep of what they emit."""


def act(record: Any) -> Any:
    """Return what the record says, (key, what, value), or raise it."""
    _, what, value = record
    if what == "raises":
        raise ValueError(value)
    if what == "returns itself":
        return record
    if what == "returns and keeps":
        kept.append([value])
        return kept[-1]
    if what == "returns a list of lists":
        return [[value], [value]]
    if what == "returns and keeps a list of lists":
        kept.append([[value]])
        kept.append(kept[-1][0])
        return kept[-2]
    if what == "yields":
        return yielding(value)
    if what == "exits":
        raise SystemExit(value)
    return value


def yielding(value: Any) -> Iterator[Any]:
    yield [value]
    kept.append([value])
    yield kept[-1]
    if value == 0:
        raise ValueError("half way")


def act_on_two(one: Any, other: Any) -> Any:
    return act(other)


class BothMapped(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return act(value)

    map2 = map1


class BothFlatMapped(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return act(value)

    flat_map2 = flat_map1


class Processed(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        if value[1] == "returns a number":
            return [ctx.timestamp()]
        return act(value)


def key_of(record: Any) -> Any:
    return record[0] if isinstance(record, tuple) else 0


Build = Callable[[DataStream], DataStream]
BUILDS: dict[str, Build] = {
    "map": lambda stream: stream.map(act),
    "filter": lambda stream: stream.filter(act),
    "flat map": lambda stream: stream.flat_map(act),
    "flat map of a generator": lambda stream: stream.flat_map(lambda record: (yield act(record))),
    "process": lambda stream: stream.process(Processed()),
    "map with typed results": lambda stream: stream.map(act, output_type=Types.LONG()),
    "keyed map": lambda stream: stream.key_by(key_of).map(act),
    "keyed filter": lambda stream: stream.key_by(key_of).filter(act),
    "keyed flat map": lambda stream: stream.key_by(key_of).flat_map(act),
    "reduce": lambda stream: stream.key_by(key_of).reduce(act_on_two),
    "skipped errors": lambda stream: stream.key_by(key_of).map(act).on_error(RecordErrors.skip(ValueError)),
}
BUILDS_OF_TWO: dict[str, Callable[[DataStream, DataStream], DataStream]] = {
    "co-map": lambda one, two: one.connect(two).map(BothMapped()),
    "co-flat map": lambda one, two: one.connect(two).flat_map(BothFlatMapped()),
    "keyed co-map": lambda one, two: one.key_by(key_of).connect(two.key_by(key_of)).map(BothMapped()),
    "keyed co-flat map": lambda one, two: one.key_by(key_of).connect(two.key_by(key_of)).flat_map(BothFlatMapped()),
}
ALL: dict[str, Callable[..., DataStream]] = {**BUILDS, **BUILDS_OF_TWO}

KEYED = {name for name in ALL if "keyed" in name} | {"reduce", "skipped errors"}

RECORDS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(
            [
                *("returns", "returns itself", "returns and keeps", "returns a list of lists", "yields", "returns"),
                *("returns and keeps a list of lists", "raises", "returns a number"),
            ]
        ),
        st.sampled_from([None, 0, 1, "", "text", (1, "a"), {"a": 1}, 2.5]),
    )
    | st.just((0, "returns a number", 5)),
    max_size=8,
)


def settings(native: str, *, reuse: bool = False) -> Settings:
    return Settings().with_value(NATIVE, native).with_value(OBJECT_REUSE, reuse)


def shown(value: Any) -> str:
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def outcome(build: str, records: list[Any], timed: bool, settings: Settings) -> list[Any]:
    """Return the results, errors and copies of an operator, for all records in a batch, then for a half of them."""
    kept.clear()
    seen: list[Any] = []
    with OperatorHarness.of_stream(ALL[build], setup=Setup(settings=settings)) as harness:
        processes = [harness.operator.process, harness.operator.process]
        if build in BUILDS_OF_TWO:
            processes[1] = harness.operator.process_second
        for process, some in zip(processes, (records, records[: len(records) // 2]), strict=True):
            batch = Batch(list(some), list(range(len(some))) if timed else None)
            if build in KEYED:
                batch.keys = [key_of(record) for record in some]
            try:
                out = process(batch)
            except UserCodeError as error:
                seen.append([each is error.record for each in some])
                seen.append(shown((error.record, error.key, error.during, error.__cause__)))
            else:
                ids = {id(each) for each in [*kept, *records]}
                seen.append((shown(out.records), out.timestamps, [id(each) in ids for each in out.records]))
        if build in KEYED:
            with contextlib.suppress(SerializationError):
                seen.append(shown(harness.state("_reduce")))
    return seen


@pytest.mark.parametrize("build", ALL)
@given(records=RECORDS, timed=st.booleans(), reuse=st.booleans())
def test_results_and_errors_are_those_of_the_python_path(
    build: str, records: list[Any], timed: bool, reuse: bool
) -> None:
    compiled_module()
    there = outcome(build, records, timed, settings("off", reuse=reuse))
    assert outcome(build, records, timed, settings("on", reuse=reuse)) == there


@pytest.mark.parametrize("build", ALL)
@pytest.mark.parametrize("native", ["off", "on"])
def test_an_exit_fails_the_subtask_at_its_record(build: str, native: str) -> None:
    compiled_module()
    records = [(0, "returns", (1,)), (0, "exits", 3), (0, "returns", (2,))]
    is_record, error = outcome(build, records, False, settings(native))[:2]
    assert is_record == [False, True, False]
    assert "SystemExit(3)" in error


# --- calls by themselves


def call_of(kind: str, method: Any, other: Any = expect_records) -> Any:
    return compiled_module().Call(kind, method, other)


def test_a_call_is_called_like_the_function_that_it_stands_in_for() -> None:
    assert call_of("one", str)(5, None) == ("5",)
    assert call_of("optional", str)(5, None) == ("5",)
    assert call_of("optional", lambda value: None)(5, None) is None
    assert call_of("itself", bool)(5, None) == (5,)
    assert call_of("itself", bool)(0, None) is None
    assert call_of("many_of_one", list)("ab", None) == ["a", "b"]
    assert call_of("many_of_one", list)("ab") == ["a", "b"]
    assert call_of("many", lambda value, context: (value, context))(1, 2) == (1, 2)
    with pytest.raises(ProgramError, match=r"act\(\) returned 5, of type int"):
        call_of("many_of_one", act)((0, "returns", 5), None)
    for kind in ("one", "itself", "many_of_one"):
        with pytest.raises(ZeroDivisionError):
            call_of(kind, lambda value: 1 / value)(0, None)


def test_a_call_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="no kind of call is named two"):
        call_of("two", str)
    with pytest.raises(TypeError, match="compiled handle of value state"):
        call_of("reduced", max, backend_of().current)
    for arguments in ((), (1, 2, 3)):
        with pytest.raises(TypeError, match="takes a record and a context"):
            call_of("one", str)(*arguments)
    with pytest.raises(TypeError, match="takes a record and a context"):
        call_of("many", str)(1)
    with pytest.raises(TypeError, match="takes a record and a context"):
        call_of("one", str)(1, context=2)
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(call_of("one", str))


def test_a_call_and_a_loop_are_collected_with_what_they_refer_to() -> None:
    class Method:
        call: Any
        loop: Any

        def __call__(self, *_: Any) -> None:
            pass

    method = Method()
    method.call = call_of("many", method, method)
    method.loop = compiled_module().RecordLoop(method)
    seen = weakref.ref(method)
    del method
    gc.collect()
    assert seen() is None


def test_a_loop_appends_by_any_function() -> None:
    added: list[Any] = []

    def extend(out: list[Any], results: Any) -> None:
        added.append(results)
        out.extend(results)

    loop = compiled_module().RecordLoop(extend)
    assert loop.flat(iter([1, (2,)]), call_of("one", lambda value: value)) == [1, (2,)]
    assert added == [(1,), ((2,),)]
    with pytest.raises(TypeError, match="iterator of records"):
        loop.flat([1], str)
    for method in (loop.run, loop.run_timed, loop.flat, loop.flat_timed):
        with pytest.raises(TypeError, match="arguments"):
            method()


@pytest.mark.parametrize("native", ["off", "on"])
def test_no_reference_is_left_behind(native: str) -> None:
    compiled_module()
    record = (0, "returns itself", [1])
    whats = ("returns itself", "returns and keeps", "returns a list of lists", "yields", "raises", "returns a number")
    for build, build_of in ALL.items():
        with OperatorHarness.of_stream(build_of, setup=Setup(settings=settings(native))) as harness:

            def use(harness: OperatorHarness = harness) -> None:
                for what in whats:
                    for timestamps in (None, [1]):
                        with contextlib.suppress(UserCodeError):
                            harness.operator.process(Batch([(0, what, record)], timestamps, [0]))
                kept.clear()

            check_nothing_is_left(use, 30, [record], memory=build not in KEYED)
