from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, ProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Streak(KeyedProcessFunction):
    """Counts equal readings in a row, with state that is cleared when the streak ends."""

    def __init__(self):
        self.last = None
        self.streak = None

    def open(self, runtime_context: RuntimeContext):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.STRING()))
        self.streak = runtime_context.get_state(ValueStateDescriptor("streak", Types.INT()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        if self.last.value() == value[1]:
            self.streak.update((self.streak.value() or 1) + 1)
            yield ctx.get_current_key(), value[1], self.streak.value()
        else:
            self.streak.clear()
        self.last.update(value[1])


class Report(ProcessFunction):
    def process_element(self, value, ctx: "ProcessFunction.Context"):
        if value[2] == 3:
            return [f"three {value[1]} of {value[0]}"]
        return None


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
data = [("x", "up"), ("y", "up"), ("x", "up"), ("y", "down"), ("x", "up"), ("y", "down"), ("y", "down"), ("x", "down")]
env.from_collection(data).key_by(lambda v: v[0]).process(Streak()).process(Report(), Types.STRING()).print()
env.execute()
