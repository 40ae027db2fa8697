from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)

fruits = env.from_collection(["apple", "pear"], Types.STRING())
trees = env.from_collection(["oak", "pine", "elm"], Types.STRING())

upper = fruits.union(trees).rebalance().map(lambda s: s.upper(), Types.STRING()).name("upper").uid("upper-uid")
lengths = upper.filter(lambda s: "E" in s).forward().map(lambda s: len(s), Types.INT())
totals = lengths.key_by(lambda n: n % 2 == 0).sum()
totals.filter(lambda n: n == 8).map(lambda n: f"total {n}").print().set_parallelism(1)

assert '"upper"' in env.get_execution_plan()
env.execute("union")
