import re

from pyflink.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment


class Tokenizer(FlatMapFunction):
    """The pattern is compiled in open, on the worker."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.compiled = None

    def open(self, runtime_context: RuntimeContext):
        self.compiled = re.compile(self.pattern)
        self.subtask = runtime_context.get_index_of_this_subtask()
        assert runtime_context.get_number_of_parallel_subtasks() == 1
        assert runtime_context.get_max_number_of_parallel_subtasks() >= 1

    def flat_map(self, value):
        return [(self.subtask, token) for token in self.compiled.findall(value)]

    def close(self):
        print("closed")


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection(["a1 b22", "", "c333"]).flat_map(Tokenizer(r"[a-z]\d+")).print()
env.execute("tokens")
