from pyflink.common import Time, Types
from pyflink.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction, ReduceFunction
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Longest(ReduceFunction):
    def reduce(self, value1, value2):
        return max(value1, value2)


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Profile(FlatMapFunction):
    """Keeps something of every kind for each sensor, and tells at every second reading."""

    def open(self, runtime_context: RuntimeContext):
        ttl_config = (
            StateTtlConfig.new_builder(Time.hours(1))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .build()
        )
        last = ValueStateDescriptor("last", Types.FLOAT())
        last.enable_time_to_live(ttl_config)
        self.last = runtime_context.get_state(last)
        self.readings = runtime_context.get_list_state(ListStateDescriptor("readings", Types.FLOAT()))
        self.per_unit = runtime_context.get_map_state(MapStateDescriptor("per unit", Types.STRING(), Types.INT()))
        self.longest = runtime_context.get_reducing_state(ReducingStateDescriptor("longest", Longest(), Types.FLOAT()))
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def flat_map(self, value):
        sensor, unit, reading = value
        self.readings.add(reading)
        self.per_unit.put(unit, (self.per_unit.get(unit) or 0) + 1)
        self.longest.add(reading)
        self.mean.add(reading)
        if self.last.value() is not None:
            units = ", ".join(f"{n} {name}" for name, n in sorted(self.per_unit.items()))
            readings = list(self.readings.get())
            yield f"{sensor}: {readings} ({units}), at most {self.longest.get()}, mean {self.mean.get()}"
            self.last.clear()
            self.readings.clear()
        else:
            self.last.update(reading)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
data = [("x", "m", 1.5), ("y", "m", 4.0), ("x", "km", 2.5), ("x", "m", 3.0), ("y", "m", 2.0), ("x", "m", 1.0)]
env.from_collection(data).key_by(lambda reading: reading[0]).flat_map(Profile(), output_type=Types.STRING()).print()
env.execute()
