"""Watermark strategies and side outputs in programs, on a MiniCluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate.common import Duration, Types, WatermarkStrategy
from headgate.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.datastream import DataStream, OutputTag, ProcessFunction
from headgate.errors import IgnoredWarning, JobFailedError, ProgramError
from tests.unit.datastream.environments import environment, numbers

ODD = OutputTag("odd", Types.LONG())


class TenFold(TimestampAssigner):
    """A number is the hundredth of a second that it happened in."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 10


class Stamped(ProcessFunction):
    """Puts out the timestamp of each record."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp()


class Sorter(ProcessFunction):
    """Yields odd numbers beside the others."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        else:
            yield value


class EachRecord(WatermarkGenerator):
    """A watermark behind each record."""

    def on_event(self, event: Any, timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp_ms)


STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TenFold())


def test_a_source_with_a_strategy_gives_records_timestamps() -> None:
    env = environment()
    stream = env.from_source(NumberSequenceSource(1, 3), STRATEGY, "numbers").uid("mine").set_parallelism(1)
    assert list(stream.process(Stamped()).execute_and_collect()) == [(1, 10), (2, 20), (3, 30)]


def test_any_stream_can_be_given_timestamps_and_watermarks() -> None:
    env = environment()
    strategy = WatermarkStrategy.for_generator(EachRecord).with_timestamp_assigner(lambda value, _: value * 10)
    stream = numbers(env).assign_timestamps_and_watermarks(strategy)
    assert stream.get_name() == "Timestamps/Watermarks"
    assert list(stream.process(Stamped()).execute_and_collect()) == [(1, 10), (2, 20), (3, 30)]


class Wrapped:
    """An assigner by its method alone."""

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 10


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_an_assigner_is_known_by_its_method(mode: str) -> None:
    env = environment(**{"execution__runtime-mode": mode})
    stream = numbers(env).assign_timestamps_and_watermarks(STRATEGY.with_timestamp_assigner(Wrapped()))
    assert list(stream.process(Stamped()).execute_and_collect()) == [(1, 10), (2, 20), (3, 30)]


def test_a_timestamp_that_is_none_fails_the_job_and_names_the_record() -> None:
    class Forgetful(TenFold):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return None  # type: ignore[return-value]

    env = environment()
    numbers(env).assign_timestamps_and_watermarks(STRATEGY.with_timestamp_assigner(Forgetful())).print()
    with pytest.raises(JobFailedError, match=r"(?s)timestamp assigner returned None.*record: 1"):
        env.execute()


def test_side_output_is_a_stream_of_its_own_with_the_type_of_its_tag() -> None:
    env = environment()
    sorted_out = numbers(env).process(Sorter())
    odd = sorted_out.get_side_output(ODD)
    assert odd.get_type() == Types.LONG()
    both = sorted_out.map(lambda n: ("even", n)).union(odd.map(lambda n: ("odd", n)))
    assert sorted(both.execute_and_collect()) == [("even", 2), ("odd", 1), ("odd", 3)]


def test_side_output_that_nobody_reads_is_dropped() -> None:
    assert list(numbers(environment()).process(Sorter()).map(str).execute_and_collect()) == ["2"]


def test_side_output_can_be_partitioned_by_key() -> None:
    odd = numbers(environment()).process(Sorter()).get_side_output(ODD)
    assert list(odd.key_by(lambda n: 0).sum().execute_and_collect()) == [1, 4]


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda stream: stream.assign_timestamps_and_watermarks(TenFold()), "takes a WatermarkStrategy"),
        (lambda stream: stream.get_side_output("odd"), "takes an OutputTag"),
        (lambda stream: stream.union(stream).get_side_output(ODD), "is about an operator"),
        (lambda stream: stream.get_side_output(ODD).name("odd"), "is about an operator"),
    ],
)
def test_what_cannot_be_right_is_refused(use: Callable[[DataStream], object], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        use(numbers(environment()))


def test_alignment_of_watermarks_behind_a_source_is_left_out_with_a_warning() -> None:
    aligned = STRATEGY.with_watermark_alignment("group", Duration.of_seconds(1))
    with pytest.warns(IgnoredWarning, match=r"give the strategy to from_source\(\)"):
        numbers(environment()).assign_timestamps_and_watermarks(aligned)
