from pyflink.common import Row, Types
from pyflink.datastream import CoFlatMapFunction, CoMapFunction, CoProcessFunction, StreamExecutionEnvironment


class Unify(CoMapFunction):
    """Words and numbers become one type; what is None is left out."""

    def map1(self, value):
        return Row("word", value)

    def map2(self, value):
        return Row("number", str(value)) if value > 0 else None


class Split(CoFlatMapFunction):
    def flat_map1(self, value):
        yield from value.split("-")

    def flat_map2(self, value):
        if value > 1:
            return [str(n) for n in range(value)]
        return None


class Label(CoProcessFunction):
    def process_element1(self, value, ctx: "CoProcessFunction.Context"):
        yield f"word {value}"

    def process_element2(self, value, ctx: "CoProcessFunction.Context"):
        yield f"number {value}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
words = env.from_collection(["one", "twenty-two"], type_info=Types.STRING())
amounts = env.from_collection([0, 2, 1], type_info=Types.INT())
both = words.connect(amounts)
both.map(Unify(), output_type=Types.ROW([Types.STRING(), Types.STRING()])).print()
both.flat_map(Split(), output_type=Types.STRING()).print()
both.process(Label(), Types.STRING()).print()
env.execute()
