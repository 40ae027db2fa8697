"""Timers of event time: how often a key was seen, told when it has not been seen for a minute.

python examples/state/event_time_timer.py

The minute passes in the timestamps of the records, not on the wall: the program is done at once, and gives the same
every time.
"""

from __future__ import annotations

from collections.abc import Iterator

from headgate.common import Types, WatermarkStrategy
from headgate.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor

QUIET_MS = 60_000
LATE_MS_MAX = 10_000
"""How long after a later record a record may still come."""


class CountWithTimeoutFunction(KeyedProcessFunction):
    """Counts the records of a key; emits `(key, count)` when none has come for a minute, and counts from zero."""

    def open(self, runtime_context: RuntimeContext) -> None:
        seen = ValueStateDescriptor("count and last time", Types.TUPLE([Types.LONG(), Types.LONG()]))
        self.seen = runtime_context.get_state(seen)

    def process_element(self, value: tuple[int, str], ctx: KeyedProcessFunction.Context) -> None:
        count, last_ms = self.seen.value() or (0, 0)
        timestamp_ms = ctx.timestamp()
        assert timestamp_ms is not None  # the stream has a timestamp assigner
        last_ms = max(last_ms, timestamp_ms)  # records need not come in the order of their times
        self.seen.update((count + 1, last_ms))
        ctx.timer_service().register_event_time_timer(last_ms + QUIET_MS)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[str, int]]:
        count, last_ms = self.seen.value() or (0, 0)
        if timestamp == last_ms + QUIET_MS:  # else the key was seen again after this timer was set
            self.seen.clear()
            yield ctx.get_current_key(), count


class SecondsOfRecord(TimestampAssigner):
    """The time of a record stands in its first field, in seconds."""

    def extract_timestamp(self, value: tuple[int, str], record_timestamp: int) -> int:
        return value[0] * 1000


class WatermarkAfterEachRecord(WatermarkGenerator):
    """Moves event time on with each record, where `for_bounded_out_of_orderness` does so five times a second."""

    def on_event(self, event: tuple[int, str], timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp_ms - LATE_MS_MAX - 1)


VISITS = [(0, "ann"), (10, "bob"), (30, "ann"), (25, "ann"), (60, "bob"), (101, "cid"), (131, "ann")]

if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_generator(WatermarkAfterEachRecord)
    (
        env.from_collection(VISITS)
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(SecondsOfRecord()))
        .key_by(lambda visit: visit[1])
        .process(CountWithTimeoutFunction())
        .print()
    )
    env.execute("event time timer")
