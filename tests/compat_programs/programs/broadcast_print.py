from pyflink.datastream import FilterFunction, MapFunction, StreamExecutionEnvironment


class Tag(MapFunction):
    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value):
        return f"{value} at {self.subtask}"


class NotEmpty(FilterFunction):
    def filter(self, value):
        return bool(value)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.disable_operator_chaining()
env.set_buffer_timeout(0)
env.from_collection(["x", "", "y"]).filter(NotEmpty()).set_parallelism(1).broadcast().map(Tag()).print(
    "tagged"
).set_parallelism(1)
env.execute()
