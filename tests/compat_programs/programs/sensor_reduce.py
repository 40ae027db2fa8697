from pyflink.common import Row, Types
from pyflink.datastream import ReduceFunction, StreamExecutionEnvironment


class Hottest(ReduceFunction):
    def reduce(self, value1, value2):
        return Row(value1[0], max(value1[1], value2[1]), value1[2] + value2[2])


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    readings = env.from_collection(
        [("s1", 20.5, 1), ("s2", 18.0, 1), ("s1", 23.0, 1), ("s2", 17.5, 1), ("s1", 19.0, 1)],
        type_info=Types.ROW([Types.STRING(), Types.DOUBLE(), Types.INT()]),
    )
    readings.key_by(lambda r: r[0], key_type=Types.STRING()).reduce(Hottest()).print()
    env.execute("sensors")


if __name__ == "__main__":
    main()
