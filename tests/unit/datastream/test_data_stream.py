from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.datastream import (
    DataStream,
    FilterFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
)
from headgate.datastream.functions import CheckpointListener
from headgate.errors import ProgramError, SerializationError, UnsupportedError
from headgate.functions.context import Context
from headgate.types.typeinfo import Types
from tests.unit.datastream.environments import environment, numbers, plan_of


class Double(MapFunction):
    def map(self, value: Any) -> Any:
        return 2 * value


class Odd(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value % 2)


class Plain(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value


class Drop(SinkFunction):
    def invoke(self, value: Any, context: Context) -> None:
        pass


class Locked(MapFunction):
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def map(self, value: Any) -> Any:
        return value


def test_a_program_becomes_operators_with_flinks_names() -> None:
    env = environment()
    stream = env.from_source(NumberSequenceSource(1, 3), None, "numbers")
    stream.map(Double()).flat_map(lambda n: [n, n]).filter(Odd()).process(Plain()).key_by(str).process(Keyed()).print()
    assert [node["type"] for node in plan_of(env)] == [
        "Source: numbers",
        "Map",
        "FlatMap",
        "Filter",
        "PROCESS",
        "KEYED PROCESS",
        "Sink: Print to Std. Out",
    ]


def test_operators_of_keyed_streams_know_their_key() -> None:
    env = environment()
    keyed = numbers(env).key_by(lambda n: n % 2)
    for stream in (
        keyed.map(str),
        keyed.flat_map(str),
        keyed.filter(bool),
        keyed.reduce(max),
        keyed.sum(),
        keyed.min(),
    ):
        stream.print()
    for operator in ("KeyedMapFactory", "KeyedFlatMapFactory", "KeyedFilterFactory", "ReduceFactory"):
        assert any(node["operator"] == operator for node in plan_of(env))
    keyed_nodes = [node for node in plan_of(env) if "Keyed" in node["operator"] or node["operator"] == "ReduceFactory"]
    assert {predecessor["ship_strategy"] for node in keyed_nodes for predecessor in node["predecessors"]} == {"HASH"}


def test_settings_of_an_operator_are_kept() -> None:
    env = environment()
    stream = numbers(env).map(Double()).name("double").uid("d").set_parallelism(2).set_max_parallelism(16)
    stream.set_description("times two").print().name("out").uid("o").set_parallelism(1)
    _, double, out = plan_of(env)
    assert stream.get_name() == "double"
    assert (double["type"], double["uid"], double["parallelism"], double["max_parallelism"]) == ("double", "d", 2, 16)
    assert double["contents"] == "times two"
    assert (out["type"], out["uid"], out["parallelism"]) == ("Sink: out", "o", 1)


class Forgetting(MapFunction):
    """Has a method of `CheckpointedFunction` without being one."""

    def map(self, value: Any) -> Any:
        return value

    def snapshot_state(self, context: object) -> None:
        raise AssertionError("nobody calls this")


class Deaf(Drop):
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        raise AssertionError("nobody calls this")


class Counting(KeySelector, CheckpointListener):
    def get_key(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda stream: stream.map(Forgetting()), r"map\(\) .*Forgetting .*snapshot_state.* no CheckpointedFunction"),
        (lambda stream: stream.add_sink(Deaf()), r"add_sink\(\) .*notify_checkpoint_complete.* no CheckpointListener"),
        (lambda stream: stream.key_by(Counting()), "key selectors have no state"),
    ],
)
def test_what_would_wait_in_vain_for_checkpoints_is_refused(use: Callable[[DataStream], object], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        use(numbers(environment()))


@pytest.mark.parametrize(
    ("repartition", "strategy"),
    [
        (DataStream.rebalance, "REBALANCE"),
        (DataStream.rescale, "RESCALE"),
        (DataStream.shuffle, "SHUFFLE"),
        (DataStream.broadcast, "BROADCAST"),
        (DataStream.forward, "FORWARD"),
    ],
)
def test_partitioning_is_of_the_next_edge(repartition: Callable[[DataStream], DataStream], strategy: str) -> None:
    env = environment()
    repartition(numbers(env)).print()
    assert plan_of(env)[1]["predecessors"] == [{"id": 1, "ship_strategy": strategy, "side": "first"}]


def test_a_union_reads_all_streams_also_one_twice() -> None:
    env = environment()
    one, two = numbers(env), numbers(env)
    one.union(two.rebalance(), one).print()
    assert [(p["id"], p["ship_strategy"]) for p in plan_of(env)[2]["predecessors"]] == [
        (1, "FORWARD"),
        (2, "REBALANCE"),
        (1, "FORWARD"),
    ]


def test_a_union_of_two_environments_is_refused() -> None:
    with pytest.raises(ProgramError, match="streams of the same environment"):
        numbers(environment()).union(numbers(environment()))


def test_a_keyed_stream_cannot_be_dealt_otherwise() -> None:
    keyed = numbers(environment()).key_by(str)
    for repartition in (keyed.rebalance, keyed.broadcast, keyed.forward):
        with pytest.raises(ProgramError, match=r"cannot follow key_by\(\)"):
            repartition()


def test_key_by_after_key_by_replaces_the_key() -> None:
    env = environment()
    numbers(env).rebalance().key_by(str).key_by(abs).reduce(max).print()
    assert [p["ship_strategy"] for p in plan_of(env)[1]["predecessors"]] == ["HASH"]


def test_settings_of_an_operator_need_one() -> None:
    env = environment()
    for stream in (numbers(env).union(numbers(env)), numbers(env).rebalance(), numbers(env).key_by(str)):
        with pytest.raises(ProgramError, match=r"name\(\) is about an operator, but this stream is a union or"):
            stream.name("x")


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_records_go_where_the_partitioner_says(mode: str) -> None:
    class Subtask(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.subtask = runtime_context.get_index_of_this_subtask()

        def map(self, value: Any) -> Any:
            return value, self.subtask

    env = environment(**{"parallelism__default": "3", "execution__runtime-mode": mode})
    numbers = env.from_collection(range(30))
    custom = numbers.partition_custom(lambda key, count: count - 1 - key % count, lambda n: n // 10)
    with custom.map(Subtask()).execute_and_collect() as records:
        assert sorted(records) == [(n, 2 - n // 10) for n in range(30)]
    for spread in (numbers.rescale(), numbers.shuffle()):
        with spread.map(Subtask()).execute_and_collect() as records:
            found = sorted(records)
        assert [n for n, _ in found] == list(range(30))
        assert len({subtask for _, subtask in found}) > 1


def test_projection_keeps_fields_of_tuples_in_an_order_of_their_own() -> None:
    triples = environment().from_collection([(1, "a", 2.5)], Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]))
    projected = triples.project(2, 0)
    assert projected.get_type() == Types.TUPLE([Types.DOUBLE(), Types.INT()])
    assert projected.execute_and_collect(limit=1) == [(2.5, 1)]
    with pytest.raises(ProgramError, match=r"positions from 0 to 2, not \(3,\)"):
        triples.project(3)
    with pytest.raises(ProgramError, match="needs a stream of tuples"):
        environment().from_collection([1]).project(0)


def test_a_union_of_one_stream_is_that_stream() -> None:
    assert environment().from_collection([1, 2]).union().execute_and_collect(limit=2) == [1, 2]


def test_output_types_are_kept() -> None:
    stream = numbers(environment()).map(str, Types.STRING())
    assert stream.get_type() == Types.STRING()
    assert stream.filter(bool).get_type() == Types.STRING()
    assert stream.key_by(len).sum().get_type() == Types.STRING()
    assert stream.map(len).get_type() == Types.PICKLED_BYTE_ARRAY()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: s.map(Double), r"map\(\) was given the class Double itself: pass an instance, Double\(...\)"),
        (lambda s: s.map(7), r"map\(\) takes a MapFunction or a callable such as a lambda, not 7"),
        (lambda s: s.map(Odd()), r"map\(\) takes a MapFunction, but Odd is a FilterFunction: call filter\(...\)"),
        (lambda s: s.filter(None), r"filter\(\) takes a FilterFunction or a callable such as a lambda, not None"),
        (lambda s: s.process(Keyed()), r"takes a ProcessFunction, but Keyed is a KeyedProcess.*call key_by\(...\)"),
        (lambda s: s.key_by(str).process(Plain()), r"takes a KeyedProcessFunction, but Plain is a ProcessFunction"),
        (lambda s: s.process(str), r"process\(\) takes a ProcessFunction, not .*: make a subclass of it"),
        (lambda s: s.key_by("name"), r"key_by\(\) takes a KeySelector or a callable such as a lambda, not 'name'"),
        (lambda s: s.key_by(KeySelector), r"key_by\(\) was given the class KeySelector itself"),
        (lambda s: s.key_by(str).reduce(3), r"reduce\(\) takes a ReduceFunction or a callable"),
        (lambda s: s.add_sink(print), r"add_sink\(\) takes a SinkFunction, not .*: make a subclass of it"),
        (lambda s: s.sink_to(Drop()), r"Drop is a SinkFunction: call add_sink\(...\)"),
        (lambda s: s.sink_to("out"), r"sink_to\(\) takes a Sink, such as FileSink, not 'out'"),
        (lambda s: s.union([1]), r"union\(\) takes streams, not \[1\]"),
        (lambda s: s.set_parallelism(0), "the parallelism must be a whole number of at least 1, not 0"),
        (lambda s: s.set_parallelism("2"), "the parallelism must be a whole number of at least 1, not '2'"),
        (lambda s: s.set_max_parallelism(True), "the max parallelism must be a whole number of at least 1, not True"),
        (lambda s: s.set_buffer_timeout(-1), r"the buffer timeout must be 0 \(send at once\) or .*, not -1"),
        (lambda s: s.uid(""), "the uid of an operator must be text that is not empty, not ''"),
        (lambda s: s.name(5), "the name of an operator must be text that is not empty, not 5"),
        (
            lambda s: s.execute_and_collect(limit=0),
            r"the limit of execute_and_collect\(\) must be .* at least 1, not 0",
        ),
    ],
)
def test_a_wrong_argument_says_what_to_pass_instead(wrong: Callable[[DataStream], object], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        wrong(numbers(environment()))


def test_a_function_that_cannot_be_serialised_is_found_before_anything_runs() -> None:
    env = environment()
    numbers(env).map(Locked()).print()
    with pytest.raises(SerializationError, match="the Locked object of operator 'Map' captures 'lock'"):
        env.execute()


def test_what_is_not_supported_says_so_and_is_no_attribute() -> None:
    stream = numbers(environment()).key_by(str)
    assert not hasattr(stream, "AccumulateType")
    with pytest.raises(UnsupportedError, match="AccumulateType is not supported"):
        stream.AccumulateType  # type: ignore[attr-defined]  # noqa: B018 - reading it is the test


def test_a_builder_in_place_of_what_it_builds_is_refused_with_what_to_call() -> None:
    env = environment()
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data")
    with pytest.raises(ProgramError, match=r"from_source\(\) was given a FileSourceBuilder: call build\(\) on it"):
        env.from_source(builder, None, "lines")  # type: ignore[arg-type]


def test_an_output_type_that_is_no_type_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"output type of Map\(\) must be a type such as Types.LONG\(\), not"):
        environment().from_collection([1]).map(lambda n: n, int)  # type: ignore[arg-type]


@pytest.mark.parametrize("uid_hash", ["count", "0f" * 15, None])
def test_a_uid_hash_is_thirty_two_hexadecimal_digits(uid_hash: Any) -> None:
    env = environment()
    with pytest.raises(ProgramError, match="a uid hash must be 32 hexadecimal digits"):
        numbers(env).set_uid_hash(uid_hash)
    with pytest.raises(ProgramError, match="a uid hash must be 32 hexadecimal digits"):
        numbers(env).print().set_uid_hash(uid_hash)
