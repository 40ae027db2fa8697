from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

too_small = OutputTag("too small", Types.INT())
too_large = OutputTag("too large", Types.INT())
changed = OutputTag("changed", Types.TUPLE([Types.STRING(), Types.INT()]))


class Sort(ProcessFunction):
    def process_element(self, value, ctx: "ProcessFunction.Context"):
        if value < 10:
            yield too_small, value
        elif value > 20:
            yield too_large, value
        else:
            yield value


class Changes(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        if self.last.value() is not None and self.last.value() != value:
            yield changed, (ctx.get_current_key(), value - self.last.value())
        self.last.update(value)
        yield value


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
sorted_out = env.from_collection([12, 3, 25, 20, 7, 14], type_info=Types.INT()).process(Sort(), output_type=Types.INT())
sorted_out.map(lambda value: f"kept {value}").print()
sorted_out.get_side_output(too_small).map(lambda value: f"small {value}").print()
sorted_out.get_side_output(too_large).map(lambda value: f"large {value}").print()
kept = sorted_out.key_by(lambda value: "even" if value % 2 == 0 else "odd").process(Changes(), Types.INT())
kept.get_side_output(changed).print()
kept.map(lambda value: value * 100).print()
env.execute()
