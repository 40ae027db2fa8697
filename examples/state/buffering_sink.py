"""A sink that sends elements in batches, and whose unsent elements are operator state: a failure loses none of them.

python examples/state/buffering_sink.py

The job fails once, on purpose, and goes on from its last checkpoint. Elements that were sent after that checkpoint are
sent again, as with every `SinkFunction`.
"""

from __future__ import annotations

from headgate.common import Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import MapFunction, RuntimeContext, SinkFunction, StreamExecutionEnvironment
from headgate.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.datastream.state import ListStateDescriptor
from headgate.functions.context import Context


class BufferingSink(SinkFunction, CheckpointedFunction):
    """Prints elements as soon as there are `threshold` of them."""

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("buffered-elements", Types.TUPLE([Types.STRING(), Types.INT()]))
        self.checkpointed = context.get_operator_state_store().get_list_state(descriptor)
        # After a restart, what the checkpoint holds; at another parallelism, this subtask's share of it.
        self.buffered = list(self.checkpointed)

    def invoke(self, value: tuple[str, int], context: Context) -> None:
        self.buffered.append(value)
        if len(self.buffered) >= self.threshold:
            print("sent", " ".join(f"{word}-{number}" for word, number in self.buffered), flush=True)
            self.buffered.clear()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.checkpointed.update(self.buffered)


class FailOnce(MapFunction, CheckpointListener):
    """Fails after the first checkpoint of the first attempt."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first_attempt = runtime_context.get_attempt_number() == 0
        self.fails = False

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.fails = self.is_first_attempt

    def map(self, value: tuple[str, int]) -> tuple[str, int]:
        if self.fails:
            print("fails at", value, flush=True)
            raise RuntimeError(f"no luck with {value}")
        return value


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.enable_checkpointing(50)
    source = DataGeneratorSource(lambda number: ("ab"[number % 2], number), count=70, records_per_second=200)
    env.from_source(source, None, "elements").map(FailOnce()).add_sink(BufferingSink(7))
    env.execute("buffering sink")
