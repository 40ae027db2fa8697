"""Averages of every two values of a key: the first program that Flink's documentation of state shows.

python examples/state/count_window_average.py

It prints `(1, 4)` and `(1, 5)`; the fifth value waits for a sixth.
"""

from __future__ import annotations

from collections.abc import Iterator

from headgate.common import Types
from headgate.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor


class CountWindowAverage(FlatMapFunction):
    """Emits `(key, average)` when it has seen two values of the key, and starts again."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor(
            "average",  # what the state is called in checkpoints
            Types.PICKLED_BYTE_ARRAY(),  # any Python object
        )
        # After a restart the state holds what it held at the last checkpoint.
        self.sum = runtime_context.get_state(descriptor)

    def flat_map(self, value: tuple[int, int]) -> Iterator[tuple[int, int]]:
        # The state of the key of `value`, and of no other key.
        current_sum = self.sum.value()
        if current_sum is None:
            current_sum = (0, 0)

        current_sum = (current_sum[0] + 1, current_sum[1] + value[1])
        self.sum.update(current_sum)

        if current_sum[0] >= 2:
            self.sum.clear()
            yield value[0], int(current_sum[1] / current_sum[0])


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    (
        env.from_collection([(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)])
        .key_by(lambda row: row[0])
        .flat_map(CountWindowAverage())
        .print()
    )
    env.execute("count window average")
