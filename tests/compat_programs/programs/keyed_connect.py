from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedCoProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor


class Arrival(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Settle(KeyedCoProcessFunction):
    """Joins each order with its payment, whichever comes first; one that is alone for an hour goes to a side output."""

    unpaid = OutputTag("unpaid", Types.STRING())

    def open(self, runtime_context: RuntimeContext):
        self.order = runtime_context.get_state(ValueStateDescriptor("order", Types.STRING()))
        self.payment = runtime_context.get_state(ValueStateDescriptor("payment", Types.INT()))

    def process_element1(self, value, ctx: "KeyedCoProcessFunction.Context"):
        if self.payment.value() is not None:
            yield f"order {ctx.get_current_key()}: {value[1]} for {self.payment.value()}"
            self.payment.clear()
        else:
            self.order.update(value[1])
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 3_600_000)

    def process_element2(self, value, ctx: "KeyedCoProcessFunction.Context"):
        if self.order.value() is not None:
            yield f"order {ctx.get_current_key()}: {self.order.value()} for {value[1]}"
            self.order.clear()
        else:
            self.payment.update(value[1])

    def on_timer(self, timestamp, ctx: "KeyedCoProcessFunction.OnTimerContext"):
        if self.order.value() is not None:
            yield self.unpaid, f"order {ctx.get_current_key()}: no payment until {timestamp}"
            self.order.clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Arrival())
orders = env.from_collection([(1, "book", 10), (2, "pen", 20), (3, "ink", 30)]).assign_timestamps_and_watermarks(
    strategy
)
payments = env.from_collection([(3, 7, 15), (1, 25, 40)]).assign_timestamps_and_watermarks(strategy)
settled = (
    orders.connect(payments)
    .key_by(lambda order: order[0], lambda payment: payment[0], Types.INT())
    .process(Settle(), Types.STRING())
)
settled.print().set_parallelism(1)
settled.get_side_output(Settle.unpaid).map(str.upper, Types.STRING()).print().set_parallelism(1)
env.execute()
