"""A task: sorted rows in, a key after the other; two keys that are sorted by the same number are kept apart."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from headgate.batch.inputs import TaskInput
from headgate.batch.rows import ROWS, decoded, encoded
from headgate.batch.stages import batch_plan
from headgate.batch.task import StageTask, TaskFailedError, TaskPlace
from headgate.datastream import KeyedCoProcessFunction, KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.state import ListStateDescriptor
from headgate.elements import MIN_TIMESTAMP, Batch
from headgate.functions.context import RuntimeContext
from headgate.ids import Attempt
from headgate.types.typeinfo import Types
from tests.unit.batch.environments import batch, plan_of
from tests.unit.operators.functions import time_of

KEYED, REST = 1, 2
"""Stages of the programs here: what has keys, and where its records go."""


class Listing(KeyedProcessFunction):
    """Puts out what a key has got, in the order in which it came."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.got = runtime_context.get_list_state(ListStateDescriptor("got", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> None:
        assert ctx.timer_service().current_watermark() == MIN_TIMESTAMP
        self.got.add((value[1], time_of(ctx)))
        ctx.timer_service().register_event_time_timer(0)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), list(self.got.get() or ())


class ListingBoth(Listing, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> None:
        self.process_element(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.process_element((value[0], -value[1]), ctx)


def task_of(env: StreamExecutionEnvironment, stage: int) -> StageTask:
    plan = batch_plan(plan_of(env, chaining=False))
    return StageTask(plan, stage, TaskPlace(task=0, tasks=1, attempt=Attempt(1)), TaskInput())


def listing() -> StreamExecutionEnvironment:
    env = batch()
    env.from_collection([("a", 1)]).key_by(lambda pair: pair[0]).process(Listing()).map(lambda each: each).print()
    return env


def row(key: int | None, record: Any, time: int | None = None, index: int = 0) -> pa.RecordBatch:
    times = None if time is None else [time]
    return encoded(Batch([record], times), (0, index), None, None if key is None else [key], 0)


def together(*rows: pa.RecordBatch) -> list[pa.RecordBatch]:
    return list(pa.Table.from_batches(rows, ROWS).combine_chunks().to_batches())


def records(batches: Any) -> list[Any]:
    return [record for rows in batches for record in decoded(rows).records]


def test_the_records_of_a_key_are_one_life_of_its_state_also_over_several_batches_of_rows() -> None:
    rows = [
        *together(row(-5, ("a", 1), 3), row(-5, ("a", 2), 4)),
        *together(row(-5, ("a", 3), 9), row(8, ("b", 4), 1), row(8, ("b", 5))),
    ]
    assert records(task_of(listing(), KEYED).run(rows)) == [
        ("a", [(1, 3), (2, 4), (3, 9)]),
        ("b", [(4, 1), (5, None)]),
    ]


def test_keys_that_share_a_place_in_the_order_are_kept_apart() -> None:
    rows = together(
        row(7, ("a", 1), 1), row(7, ("b", 2), 2), row(7, ("a", 3), 3), row(7, ("b", 4), 4), row(8, ("c", 5), 1)
    )
    assert records(task_of(listing(), KEYED).run(rows)) == [
        ("a", [(1, 1), (3, 3)]),
        ("b", [(2, 2), (4, 4)]),
        ("c", [(5, 1)]),
    ]


def test_both_inputs_share_the_key() -> None:
    env = batch()
    one, other = env.from_collection([("a", 1)]), env.from_collection([("a", 1)])
    connected = one.connect(other).key_by(lambda pair: pair[0], lambda pair: pair[0])
    connected.process(ListingBoth()).map(lambda each: each).print()
    rows = together(row(7, ("a", 1), 1), row(7, ("a", 2), 2, index=1), row(7, ("a", 3), 3))
    assert records(task_of(env, 2).run(rows)) == [("a", [(1, 1), (-2, 2), (3, 3)])]


def test_a_task_without_rows_puts_out_nothing() -> None:
    assert list(task_of(listing(), KEYED).run([])) == []


def test_what_every_task_reads_comes_first() -> None:
    env = batch()
    env.from_collection([1]).rebalance().map(lambda number: number).map(lambda number: number).print()
    rows, for_all = together(row(None, 1), row(None, 2)), together(row(None, 3))
    assert records(task_of(env, 1).run(rows, for_all)) == [3, 1, 2]


def test_an_error_names_operator_key_and_record() -> None:
    env = batch()
    keyed = env.from_collection([("a", 0)]).key_by(lambda pair: pair[0])
    keyed.map(lambda pair: 1 // pair[1]).name("invert").map(lambda each: each).print()
    with pytest.raises(TaskFailedError) as caught:
        list(task_of(env, KEYED).run(together(row(7, ("a", 1)), row(7, ("a", 0)))))
    for part in ("ZeroDivisionError", "invert", "'a'", "('a', 0)", "test_task.py"):
        assert part in str(caught.value)


def test_a_record_that_cannot_travel_is_named() -> None:
    env = batch()
    env.get_config().enable_object_reuse()
    stream = env.from_collection([1]).rebalance().map(lambda number: (number, threading.Lock())).name("hopeless")
    stream.rebalance().map(lambda each: each).print()
    with pytest.raises(
        TaskFailedError, match=r"(?s)cannot be pickled.*is \(1, <unlocked _thread.lock.*operator .hopeless."
    ):
        list(task_of(env, 1).run(together(row(None, 1))))
