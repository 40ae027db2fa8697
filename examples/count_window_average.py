"""Averages of every two values of a key: state that is read, changed and cleared for each record.

python examples/count_window_average.py
"""

from __future__ import annotations

from collections.abc import Iterator

from headgate.common import Types
from headgate.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor


class CountWindowAverage(FlatMapFunction):
    """Emits `(key, average)` when it has seen two values of the key, and starts again."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("average", Types.PICKLED_BYTE_ARRAY()))

    def flat_map(self, value: tuple[int, int]) -> Iterator[tuple[int, float]]:
        count, total = self.sum.value() or (0, 0)
        count, total = count + 1, total + value[1]
        if count < 2:
            self.sum.update((count, total))
        else:
            self.sum.clear()
            yield value[0], total / count


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    (
        env.from_collection([(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)])
        .key_by(lambda value: value[0])
        .flat_map(CountWindowAverage())
        .print()
    )
    env.execute("count window average")
