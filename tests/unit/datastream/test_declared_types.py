"""Declared types: what leaves an operator, a side output, a source is of the type that the program says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headgate.common import Row, Types
from headgate.common.configuration import Configuration
from headgate.common.serialization import Encoder
from headgate.datastream import (
    BroadcastProcessFunction,
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headgate.datastream.connectors.file_system import FileSink
from headgate.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.errors import JobFailedError
from headgate.functions.record_errors import RecordErrors

AB = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
SIDE = OutputTag("side", AB)
MODES = [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH]


class Doubled(KeyedProcessFunction):
    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        yield value.a * 2.0, f"{ctx.get_current_key()}{value.b}"


class Aside(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
        yield SIDE, value
        yield value


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return Row(b=f"second {value[1]}", a=value[0])


class Ruled(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterable[Any]:
        yield value


def environment(mode: RuntimeExecutionMode, parallelism: int = 2) -> StreamExecutionEnvironment:
    """Return an environment that runs jobs in this process."""
    settings = Configuration().set_string("headgate.deploy.target", "minicluster")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_runtime_mode(mode)
    env.set_parallelism(parallelism)
    return env


BUILDS: dict[str, Callable[[DataStream], DataStream]] = {
    "map": lambda pairs: pairs.map(lambda pair: pair, output_type=AB),
    "flat_map": lambda pairs: pairs.flat_map(lambda pair: [pair], output_type=AB),
    "process": lambda pairs: pairs.process(Aside(), output_type=AB),
    "side output": lambda pairs: pairs.process(Aside()).get_side_output(SIDE),
    "behind an exchange": lambda pairs: pairs.map(lambda pair: pair, output_type=AB).rebalance().map(lambda row: row),
    "as key": lambda pairs: pairs.map(lambda pair: pair, output_type=AB).key_by(lambda row: row.b).map(lambda row: row),
    "keyed process": lambda pairs: (
        pairs.map(lambda pair: (pair[0] // 2, pair[1]), output_type=AB)
        .key_by(lambda row: "")
        .process(Doubled(), output_type=AB)
    ),
    "reduce": lambda pairs: (
        pairs.map(lambda pair: pair, output_type=AB).key_by(lambda row: row.b).reduce(lambda one, two: (two.a, two.b))
    ),
    "filter": lambda pairs: pairs.map(lambda pair: pair, output_type=AB).filter(lambda row: row.a),
    "union": lambda pairs: (
        pairs.filter(lambda pair: pair[0] == 2)
        .map(lambda pair: pair, output_type=AB)
        .union(pairs.filter(lambda pair: pair[0] == 4).map(lambda pair: Row(b=pair[1], a=pair[0]), output_type=AB))
    ),
    "broadcast": lambda pairs: pairs.connect(
        pairs.filter(lambda pair: False).broadcast(MapStateDescriptor("rules", Types.INT(), Types.INT()))
    ).process(Ruled(), output_type=AB),
}


@pytest.mark.parametrize(
    "mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH], ids=lambda mode: mode.name
)
@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_records_are_of_the_declared_type(
    build: Callable[[DataStream], DataStream], mode: RuntimeExecutionMode
) -> None:
    pairs = environment(mode).from_collection([(2, "x"), (4, "y")])
    with build(pairs).execute_and_collect() as records:
        rows = sorted(records, key=lambda row: row.a)
    assert [(type(row.a), row.as_dict()) for row in rows] == [(int, {"a": 2, "b": "x"}), (int, {"a": 4, "b": "y"})]
    assert [row[1] for row in rows] == ["x", "y"]


def test_both_inputs_of_connected_streams_give_records_of_the_type() -> None:
    pairs = environment(RuntimeExecutionMode.STREAMING).from_collection([(2, "x")])
    with pairs.connect(pairs).map(Both(), output_type=AB).execute_and_collect() as records:
        assert sorted(records, key=lambda row: row.b) == [Row(a=2, b="second x"), Row(a=2, b="x")]


def test_without_a_type_objects_stay_as_they_are() -> None:
    given = [Row(b=1, a=2), (1, 2.5), True]
    with (
        environment(RuntimeExecutionMode.STREAMING).from_collection(given).map(lambda x: x).execute_and_collect() as out
    ):
        assert list(out) == given


@pytest.mark.parametrize(
    "mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH], ids=lambda mode: mode.name
)
def test_a_record_that_cannot_be_of_the_type_is_named_with_operator_and_type(mode: RuntimeExecutionMode) -> None:
    numbers = environment(mode, 1).from_collection([1, 2, 3])
    declared = numbers.map(lambda n: "two" if n == 2 else n, output_type=Types.INT()).name("Number")
    with pytest.raises(
        JobFailedError, match="not of its output type Integer: 'two' is of type str, not a number"
    ) as caught:
        list(declared.map(lambda n: n).execute_and_collect())
    assert "in operator 'Number'" in str(caught.value)
    assert "record: 'two'" in str(caught.value)


def test_a_record_that_cannot_be_of_the_type_is_skipped_where_the_stream_says_so() -> None:
    numbers = environment(RuntimeExecutionMode.STREAMING, 1).from_collection([1, 2, 3])
    declared = numbers.map(lambda n: "two" if n == 2 else n, output_type=Types.INT()).on_error(RecordErrors.skip())
    with declared.execute_and_collect() as records:
        assert list(records) == [1, 3]


def test_files_and_prints_have_javas_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(RuntimeExecutionMode.STREAMING, 1)
    pair = Types.TUPLE([Types.STRING(), Types.DOUBLE()])
    typed = env.from_collection([("a", 1), (None, 1e10)]).map(lambda pair: pair, output_type=pair)
    typed.print()
    typed.map(lambda pair: Row(*pair), output_type=Types.ROW([Types.STRING(), Types.DOUBLE()])).sink_to(
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
    )
    env.execute()
    assert capsys.readouterr().out.splitlines() == ["(a,1.0)", "(null,1.0E10)"]
    (part,) = tmp_path.rglob("part-*")
    assert part.read_text().splitlines() == ["+I[a, 1.0]", "+I[null, 1.0E10]"]


class Counted(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield repr(ctx.get_current_key()), count


@dataclass
class Account:
    number: int


NUMBERS = [1, True, 1.0, Decimal("1.0"), Decimal("1.00")]
KEYS = [*NUMBERS, None, [1], {"a": 1}, frozenset({1}), Account(1), Row(a=1), (1, [2])]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_each_kind_of_key_has_state_of_its_own(mode: RuntimeExecutionMode, backend: str) -> None:
    env = environment(mode)
    env.configure(Configuration().set_string("state.backend.type", backend))
    counted = env.from_collection(KEYS * 2).key_by(lambda key: key).process(Counted())
    with counted.execute_and_collect() as records:
        assert sorted(records) == sorted((repr(key), count) for key in KEYS for count in (1, 2))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_keys_of_a_declared_type_are_of_that_type(mode: RuntimeExecutionMode) -> None:
    numbers = environment(mode).from_collection([1, True, 1.9, 2])
    counted = numbers.key_by(lambda key: key, key_type=Types.INT()).process(Counted())
    with counted.execute_and_collect() as records:
        assert sorted(records) == [("1", 1), ("1", 2), ("1", 3), ("2", 1)]


class Merged(ReduceFunction):
    def reduce(self, value1: Row, value2: Row) -> Any:
        return Row(value1.a + value2.a + 0.5, value1.b)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_what_a_reduce_function_returns_is_of_the_type_for_its_next_call(mode: RuntimeExecutionMode) -> None:
    rows = environment(mode).from_collection([(1, "x"), (2, "x"), (3, "x")], type_info=AB)
    with rows.key_by(lambda row: row.b).reduce(Merged()).execute_and_collect() as records:
        *_, last = records
    assert last == Row(a=6, b="x")


class Remembers(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", AB))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", AB))
        self.by_name = runtime_context.get_map_state(MapStateDescriptor("by name", Types.STRING(), AB))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        row = Row(*value)
        self.last.update(row)
        self.all.add_all([row])
        self.by_name.put("last", row)
        found = self.by_name.get("last")
        yield self.last.value(), list(self.all.get())[-1], found


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_rows_in_state_have_the_names_of_the_declared_type(backend: str) -> None:
    env = environment(RuntimeExecutionMode.STREAMING)
    env.configure(Configuration().set_string("state.backend.type", backend))
    remembered = env.from_collection([(1, "x"), (2, "y")]).key_by(lambda pair: pair[1]).process(Remembers())
    with remembered.execute_and_collect() as records:
        assert sorted(row.as_dict()["a"] for rows in records for row in rows) == [1, 1, 1, 2, 2, 2]
