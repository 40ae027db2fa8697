from itertools import pairwise

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor

PATTERNS = MapStateDescriptor("patterns", Types.STRING(), Types.PICKLED_BYTE_ARRAY())


class Sent(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Matching(KeyedBroadcastProcessFunction):
    """Tells of two items in a row, of one colour, whose shapes are those of a pattern."""

    def open(self, runtime_context: RuntimeContext):
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", Types.STRING()))

    def process_element(self, value, ctx: "KeyedBroadcastProcessFunction.ReadOnlyContext"):
        self.items.add(value[1])
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_broadcast_element(self, value, ctx: "KeyedBroadcastProcessFunction.Context"):
        ctx.get_broadcast_state(PATTERNS).put(value[0], value[1:])

    def on_timer(self, timestamp, ctx: "KeyedBroadcastProcessFunction.OnTimerContext"):
        items = list(self.items.get())
        for name, shapes in sorted(ctx.get_broadcast_state(PATTERNS).items()):
            for pair in pairwise(items):
                if pair == shapes:
                    yield f"{ctx.get_current_key()}: {name}"


class Telling(BroadcastProcessFunction):
    def process_element(self, value, ctx: "BroadcastProcessFunction.ReadOnlyContext"):
        state = ctx.get_broadcast_state(PATTERNS)
        yield f"{value[0]} {value[1]}, {'no' if 'none' not in state else 'a'} pattern called none"

    def process_broadcast_element(self, value, ctx: "BroadcastProcessFunction.Context"):
        patterns = ctx.get_broadcast_state(PATTERNS)
        patterns.put(value[0], value[1:])
        if not patterns.is_empty() and patterns.contains(value[0]):
            yield f"pattern {value[0]}: {patterns.get(value[0])}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Sent())
items = env.from_collection(
    [("red", "square", 1), ("blue", "square", 2), ("red", "circle", 3), ("blue", "square", 4), ("red", "square", 5)]
).assign_timestamps_and_watermarks(strategy)
patterns = env.from_collection([("twins", "square", "square"), ("wheel", "square", "circle")])
broadcast = patterns.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks()).broadcast(PATTERNS)
items.key_by(lambda item: item[0], Types.STRING()).connect(broadcast).process(Matching(), Types.STRING()).print()
items.connect(broadcast).process(Telling(), Types.STRING()).print()
env.execute()
