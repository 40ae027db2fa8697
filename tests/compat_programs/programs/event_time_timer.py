from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment, TimeDomain
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor


class CountUntilQuiet(KeyedProcessFunction):
    """Counts the clicks of a user, and tells once the user has been quiet for ten seconds."""

    def __init__(self):
        self.count = None
        self.last = None

    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        self.count.update((self.count.value() or 0) + 1)
        last = max(self.last.value() or 0, ctx.timestamp())
        self.last.update(last)
        ctx.timer_service().register_event_time_timer(last + 10_000)

    def on_timer(self, timestamp: int, ctx: "KeyedProcessFunction.OnTimerContext"):
        if timestamp == self.last.value() + 10_000 and ctx.time_domain() == TimeDomain.EVENT_TIME:
            yield f"{ctx.get_current_key()} was quiet at {timestamp} after {self.count.value()} clicks"
            self.count.clear()
            self.last.clear()


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp: int) -> int:
        return value[1]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    clicks = env.from_collection(
        [
            ("ann", 1_000),
            ("bob", 4_000),
            ("ann", 3_000),
            ("bob", 2_000),
            ("ann", 9_000),
            ("cid", 8_000),
            ("ann", 8_500),
        ],
        type_info=Types.TUPLE([Types.STRING(), Types.LONG()]),
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2)).with_timestamp_assigner(
        ClickTime()
    )
    clicks.assign_timestamps_and_watermarks(strategy).key_by(lambda click: click[0], key_type=Types.STRING()).process(
        CountUntilQuiet(), output_type=Types.STRING()
    ).print()
    env.execute("event time timer")


if __name__ == "__main__":
    main()
