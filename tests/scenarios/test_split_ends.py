"""A split whose end is told behind its last record holds event time back no longer than that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.common import Configuration, WatermarkStrategy
from headgate.datastream import ProcessFunction, StreamExecutionEnvironment
from headgate.elements import MIN_TIMESTAMP
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput


class TwoSplits(Source[str]):
    """Split a has one record, and turns out to have no other; b has more."""

    watermarks_per_split = True

    def splits(self, parallelism: int) -> list[str]:
        return ["a", "b"]

    def split_id(self, split: str) -> str:
        return split

    def reader(self, context: SourceContext) -> SourceReader[str]:
        return TwoSplitsReader()


class TwoSplitsReader(SourceReader[str]):
    def __init__(self) -> None:
        self.polls = [
            Records([1], [1], "a"),
            Records([5], [5], "b"),
            Records([], [], "a", ended=True),
            Records([]),
            Records([6], [6], "b"),
            Records([7], [7], "b", ended=True),
        ]

    def add_splits(self, splits: list[str]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        return self.polls.pop(0) if self.polls else END_OF_INPUT

    def snapshot(self) -> list[str]:
        return []


class AtOnce(WatermarkGenerator):
    def on_event(self, event: int, timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp_ms)


class Watermarks(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


def test_an_end_without_records_is_an_end() -> None:
    configuration = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    stream = env.from_source(TwoSplits(), WatermarkStrategy.for_generator(AtOnce), "two").process(Watermarks())
    with stream.execute_and_collect() as results:
        assert list(results) == [(1, MIN_TIMESTAMP), (5, MIN_TIMESTAMP), (6, 5), (7, 6)]
