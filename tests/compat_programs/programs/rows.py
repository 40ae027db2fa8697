from pyflink.common import Row, Types
from pyflink.datastream import MapFunction, StreamExecutionEnvironment


class Birthday(MapFunction):
    def map(self, value):
        return Row(id=value.id, name=value["name"], age=value.age + 1)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)

people = Types.ROW_NAMED(["id", "name", "age"], [Types.INT(), Types.STRING(), Types.INT()])
ds = env.from_collection([(1, "Ann", 30), Row(2, "Bob", 41), (3, None, 5)], type_info=people)

assert ds.get_type() == people
ds.map(Birthday()).filter(lambda p: p.name is not None).map(
    lambda p: "{}:{}:{}".format(p.id, p.name, p.as_dict()["age"]), output_type=Types.STRING()
).print("people")

env.execute()
