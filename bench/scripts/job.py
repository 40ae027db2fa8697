"""A first job, as a newcomer writes it; it leaves the times of its outputs in the file named on the command line."""

import sys
import time
from pathlib import Path

from headgate.datastream import StreamExecutionEnvironment


def note_time(times: str, record: tuple[str, int]) -> tuple[str, int]:
    with Path(times).open("a") as file:
        file.write(f"{time.monotonic()}\n")
    return record


if __name__ == "__main__":
    times = sys.argv.pop()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.enable_checkpointing(1_000)
    words = env.from_collection([(word, 1) for word in ("to", "be", "or", "not", "to", "be")])
    words.key_by(lambda pair: pair[0]).sum(1).map(lambda pair: note_time(times, pair)).print()
    env.execute()
