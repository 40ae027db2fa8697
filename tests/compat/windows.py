"""Windows of each layout whose snapshots are kept in `golden/windows-v4`, and the results that must follow.

`python -m tests.compat.windows FOLDER` makes the snapshots, with the headgate that is first on `PYTHONPATH`. The
program must not change, because the snapshots hold its state.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from headgate.common import Configuration, WatermarkStrategy
from headgate.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from headgate.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headgate.elements import SavepointFormat
from tests.compat import program
from tests.compat.make import INCREMENTAL, ROCKSDB, keep, wait_for

GOLDEN: Final = Path(__file__).parent / "golden" / "windows-v4"
KINDS: Final[dict[str, dict[str, str]]] = {
    "hashmap-full": {},
    "hashmap-canonical": {},
    "rocksdb-incremental": {**ROCKSDB, **INCREMENTAL},
    "rocksdb-canonical": ROCKSDB,
}
KEYS: Final = 3
FIRST, LAST, COUNT = 66, 73, 120
"""Numbers before the first checkpoint, before the snapshot, and in all."""
SIZE_MS, SLIDE_MS, GAP_MS = 100, 40, 50
SETTINGS: Final = {**program.SETTINGS, "pipeline.auto-watermark-interval": "2 ms"}


def time_of(number: int) -> int:
    """Return the time of a number: after each twenty there is a pause, so that sessions end."""
    return number * 10 + number // 20 * 100


class Sum(AggregateFunction):
    """Adds up numbers."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class MergeableSum(Sum):
    """The same, with accumulators that may be merged at any time."""

    mergeable = True


class Summed(ProcessWindowFunction[int, Any, int, Any]):
    """Yields the key, the start and the end of a window with the sum of its elements."""

    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterator[Any]:
        yield key, context.window().start, context.window().end, sum(elements)


TUMBLING: Final = TumblingEventTimeWindows(SIZE_MS, 0)
SLIDING: Final = SlidingEventTimeWindows(SIZE_MS, SLIDE_MS, 0)
SESSIONS: Final = EventTimeSessionWindows(GAP_MS)
WINDOWS: Final[dict[str, Callable[[Any], Any]]] = {
    "tumbling": lambda keyed: keyed.window(TUMBLING).reduce(lambda one, other: one + other, Summed()),
    "tumbling-trigger": lambda keyed: _triggered(keyed.window(TUMBLING)).aggregate(Sum(), Summed()),
    "sliding": lambda keyed: keyed.window(SLIDING).aggregate(Sum(), Summed()),
    "sliding-merged": lambda keyed: keyed.window(SLIDING).aggregate(MergeableSum(), Summed()),
    "sliding-all": lambda keyed: keyed.window(SLIDING).process(Summed()),
    "sessions": lambda keyed: keyed.window(SESSIONS).aggregate(Sum(), Summed()),
    "sessions-trigger": lambda keyed: _triggered(keyed.window(SESSIONS)).aggregate(Sum(), Summed()),
}


def _triggered(windows: Any) -> Any:
    return windows.trigger(PurgingTrigger.of(EventTimeTrigger.create()))


def build(env: StreamExecutionEnvironment) -> None:
    """Add the program to an environment."""
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda number, _: time_of(number))
    numbers = env.from_source(program.Gated(), timed, "numbers").uid("numbers").set_parallelism(1)
    keyed = numbers.key_by(lambda number: number % KEYS)
    for name, windows in WINDOWS.items():
        named = windows(keyed).uid(name).map(lambda found, name=name: (name, *found)).uid(f"{name}-named")
        named.add_sink(program.Seeing()).uid(f"{name}-seen")


def expected(after_ms: int, until_ms: float) -> list[Any]:
    """Return the results of the windows that end after the one time and not after the other."""
    found: dict[Any, int] = {}
    for key in range(KEYS):
        sessions: list[list[int]] = []
        for number in range(key, COUNT, KEYS):
            at = time_of(number)
            if not sessions or at > sessions[-1][1]:
                sessions.append([at, at, 0])
            sessions[-1][1:] = at + GAP_MS, sessions[-1][2] + number
            starts = range(at // SLIDE_MS * SLIDE_MS, at - SIZE_MS, -SLIDE_MS)
            windows = {name: starts for name in WINDOWS if name.startswith("sliding")}
            windows |= dict.fromkeys(("tumbling", "tumbling-trigger"), range(at // SIZE_MS * SIZE_MS, at + 1, SIZE_MS))
            for name, some in windows.items():
                for start in some:
                    window = name, key, start, start + SIZE_MS
                    found[window] = found.get(window, 0) + number
        for name in ("sessions", "sessions-trigger"):
            found |= {(name, key, start, end): total for start, end, total in sessions}
    return sorted((*window, total) for window, total in found.items() if after_ms < window[3] <= until_ms)


def make(name: str, target: Path) -> None:
    """Run the program until windows have been evaluated, and keep a snapshot."""
    program.SEEN.clear()
    program.ENDS.clear()
    with tempfile.TemporaryDirectory() as folder:
        job = _submitted(
            {**KINDS[name], "execution.checkpointing.interval": "30 ms"}, Path(folder), program.PARALLELISM
        )
        for limit in (FIRST, LAST):
            program.LIMIT[0] = limit
            while sorted(program.SEEN) != expected(-SIZE_MS, time_of(limit - 1)):
                time.sleep(0.002)
            wait_for(len(job.progress.checkpoints) + 2, job.progress.checkpoints)
        if name.endswith("-canonical"):
            savepoint = job.trigger_savepoint(str(Path(folder, "savepoints")), SavepointFormat.CANONICAL)
            keep(Path(savepoint.result(120.0), "_metadata"), target)
        job.cancel()
        job.wait(120.0)
        if not name.endswith("-canonical"):
            (found,) = Path(folder).glob("*/chk-*/_metadata")
            keep(found, target)


def restore(kept: Path, folder: Path, backend: str, parallelism: int) -> None:
    """Start the program from a copy of a snapshot, run it to its end, and check what comes out."""
    program.SEEN.clear()
    program.LIMIT[0] = COUNT
    program.ENDS.set()
    (metadata,) = shutil.copytree(kept, folder / "before").rglob("_metadata")
    settings = {"state.backend.type": backend, "execution.state-recovery.path": str(metadata.parent)}
    outcome = _submitted(settings, folder / "after", parallelism).wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    assert sorted(program.SEEN) == expected(time_of(LAST - 1), float("inf"))


def _submitted(settings: dict[str, str], folder: Path, parallelism: int) -> Any:
    every = {
        **SETTINGS,
        **settings,
        "execution.checkpointing.dir": str(folder),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(every))
    build(env.set_parallelism(parallelism))
    return env.submit()


if __name__ == "__main__":
    for each in sys.argv[2:] or KINDS:
        make(each, Path(sys.argv[1], each))
