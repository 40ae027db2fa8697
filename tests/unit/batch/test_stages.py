"""Stages: how records get from one to the next, and what of a program is another thing in a batch job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.batch.stages import FinalReduce, ShuffleKind, batch_plan, stages
from headgate.common import Duration, WatermarkStrategy
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment
from headgate.graph.job_graph import OperatorPlan
from headgate.operators.keyed_functions import KeyedProcessFactory
from headgate.operators.source import SourceFactory
from headgate.operators.watermarks import AssignFactory
from headgate.options import CHANGELOG, CHECKPOINT_INCREMENTAL, STATE_BACKEND
from tests.unit.batch.environments import batch, plan_of


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


def same(value: Any) -> Any:
    return value


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(NumberSequenceSource(1, 10), None, "numbers")


def last(env: StreamExecutionEnvironment) -> Any:
    return stages(plan_of(env))[-1]


ONE_INPUT: dict[str, tuple[Callable[[DataStream], Any], ShuffleKind]] = {
    "forward": (lambda stream: stream.map(same).start_new_chain(), ShuffleKind.NONE),
    "key_by": (lambda stream: stream.key_by(same).map(same), ShuffleKind.BY_KEY),
    "rebalance": (lambda stream: stream.rebalance().map(same), ShuffleKind.BY_TASK),
    "broadcast": (lambda stream: stream.broadcast().map(same), ShuffleKind.TO_ALL),
    "other parallelism": (lambda stream: stream.map(same).set_parallelism(3), ShuffleKind.BY_TASK),
}


@pytest.mark.parametrize("how", ONE_INPUT)
def test_records_come_to_the_next_stage_by(how: str) -> None:
    env = batch().set_parallelism(2)
    build, shuffle = ONE_INPUT[how]
    build(numbers(env)).print()
    plan = stages(plan_of(env))
    assert [each.shuffle for each in plan[1].inputs] == [shuffle]
    assert [each.shuffle for each in plan[0].targets] == [shuffle]
    assert plan[1].is_keyed is (how == "key_by")


def test_where_two_streams_meet_records_go_to_the_task_of_their_own_number() -> None:
    env = batch().set_parallelism(2)
    numbers(env).union(numbers(env)).map(same).print()
    assert [each.shuffle for each in last(env).inputs] == [ShuffleKind.BY_TASK, ShuffleKind.BY_TASK]
    first = stages(plan_of(env))[0].targets[0]
    assert (first.deals, first.parallelism) == (False, 2)


def test_both_inputs_of_a_connected_stream_are_told_apart() -> None:
    env = batch()
    numbers(env).connect(numbers(env)).key_by(same, same).map(Both()).print()
    assert [(each.index, each.stage, each.shuffle) for each in last(env).inputs] == [
        (0, 0, ShuffleKind.BY_KEY),
        (1, 1, ShuffleKind.BY_KEY),
    ]


def test_no_stage_comes_before_one_that_it_reads() -> None:
    env = batch().set_parallelism(2)
    first, second = numbers(env), numbers(env)
    keyed = first.key_by(same).map(same)
    keyed.union(second).key_by(same).map(same).print()
    keyed.print()
    for place, stage in enumerate(stages(plan_of(env, chaining=False))):
        assert stage.vertex.id == place
        assert all(each.stage < place for each in stage.inputs)


def operators(env: StreamExecutionEnvironment) -> list[OperatorPlan]:
    return [operator for vertex in batch_plan(plan_of(env)).vertices for operator in vertex.operators]


def test_of_a_strategy_the_timestamps_stay() -> None:
    env = batch()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).with_idleness(
        Duration.of_seconds(1)
    )
    with_times = strategy.with_timestamp_assigner(lambda value, _: value).with_watermark_alignment(
        "group", Duration.of_seconds(1)
    )
    env.from_source(NumberSequenceSource(1, 2), with_times, "a").assign_timestamps_and_watermarks(strategy).print()
    source, assign = operators(env)[0].factory, operators(env)[1].factory
    assert isinstance(source, SourceFactory)
    assert isinstance(assign, AssignFactory)
    assert source.strategy is not None
    assert source.strategy.timestamp_assigner is not None
    assert source.strategy.alignment is None
    assert [source.strategy.progress, assign.strategy.progress] == [None, None]
    assert assign.strategy.timestamp_assigner is None


def test_a_source_whose_strategy_has_nothing_else_than_watermarks_has_none() -> None:
    env = batch()
    env.from_source(NumberSequenceSource(1, 2), WatermarkStrategy.for_monotonous_timestamps(), "a").print()
    source = operators(env)[0].factory
    assert isinstance(source, SourceFactory)
    assert source.strategy is None


def test_a_rolling_aggregate_is_one_that_puts_out_its_last_value() -> None:
    env = batch()
    numbers(env).key_by(same).sum().print()
    factory = operators(env)[1].factory
    assert isinstance(factory, KeyedProcessFactory)
    assert isinstance(factory.function, FinalReduce)


def test_state_lies_in_memory_whatever_is_set() -> None:
    env = batch(
        **{
            "state.backend.type": "rocksdb",
            "state.changelog.enabled": "true",
            "execution.checkpointing.incremental": "true",
            "execution.checkpointing.interval": "1 s",
        }
    )
    numbers(env).print()
    plan = batch_plan(plan_of(env))
    assert plan.settings.get(STATE_BACKEND) == "hashmap"
    assert not plan.settings.get(CHANGELOG)
    assert not plan.settings.get(CHECKPOINT_INCREMENTAL)
    assert not plan.checkpointing
