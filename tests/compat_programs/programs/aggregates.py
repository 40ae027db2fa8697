from pyflink.common import Row, Types
from pyflink.datastream import KeySelector, StreamExecutionEnvironment


class ByName(KeySelector):
    def get_key(self, value):
        return value[0]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
data = [("a", 3, 10), ("a", 1, 20), ("a", 5, 30), ("b", 2, 40)]
types = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])


def last_of_a(stream):
    with stream.execute_and_collect() as results:
        return [r for r in results if r[0] == "a"][-1]


def keyed():
    return env.from_collection(data, type_info=types).key_by(ByName(), key_type=Types.STRING())


print("sum", last_of_a(keyed().sum(1)))
print("min", last_of_a(keyed().min(1)))
print("max", last_of_a(keyed().max(1)))
print("min_by", last_of_a(keyed().min_by(1)))
print("max_by", last_of_a(keyed().max_by(1)))

rows = env.from_collection(
    [Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
)
print("row sum", list(rows.key_by(lambda r: r.k).sum("n").execute_and_collect())[-1].n)
