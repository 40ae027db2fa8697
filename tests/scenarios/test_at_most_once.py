"""At most once: no checkpoints and a restart strategy; after a failure a live feed goes on from its present."""

from __future__ import annotations

from headgate.common import Configuration, Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader

COUNT = 10_000
"""Far more than can be under way at one time."""

FAILS_AT = 150
HEARD: list[int] = []
"""What the feed has sent so far: its present is behind it, whoever listens."""

PROCESSED: list[tuple[int, int]] = []


class Feed(Source[int]):
    """The numbers from 0 on, each sent once: who listens later has missed the earlier ones."""

    parallelism_max = 1

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return Listener()


class Listener(SourceReader[int]):
    def add_splits(self, splits: list[int]) -> None:
        assert splits == [0]

    def poll(self, records_max: int) -> Poll:
        sent = list(range(len(HEARD), min(len(HEARD) + min(records_max, 20), COUNT)))
        HEARD.extend(sent)
        return Records(sent) if sent else END_OF_INPUT

    def snapshot(self) -> list[int]:
        return [0]


class CountAndFailOnce(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._fails = runtime_context.get_attempt_number() == 0
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        if self._fails and value == FAILS_AT:
            raise ValueError("planned fault")
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        PROCESSED.append((value, count))


def test_after_a_failure_a_job_without_checkpoints_loses_state_and_what_was_under_way_and_doubles_nothing() -> None:
    HEARD.clear()
    PROCESSED.clear()
    settings = {
        "headgate.deploy.target": "minicluster",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(1)
    env.from_source(Feed(), None, "feed").key_by(lambda number: 0).process(CountAndFailOnce()).print()
    env.execute()
    numbers = [number for number, _ in PROCESSED]
    assert numbers == sorted(set(numbers))
    assert FAILS_AT not in numbers
    assert numbers[-1] == COUNT - 1
    assert numbers[:FAILS_AT] == list(range(FAILS_AT))
    counts = [count for _, count in PROCESSED]
    assert counts == [*range(1, FAILS_AT + 1), *range(1, len(counts) - FAILS_AT + 1)]
