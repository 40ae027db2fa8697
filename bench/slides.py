"""Sliding windows by themselves: what a record, a result and a watermark that fires none cost.

`python -m bench.slides '{}'` prints its result as JSON on the last line. The window operator runs alone, without
source and sink: 50 keys with 100 records each in every second of event time, in tumbling windows of an hour,
before the first is due, and in windows of an hour that slide by the second, for two hours.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, final

from bench.programs import key_of
from bench.timed_programs import Counted
from headgate.datastream import DataStream
from headgate.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from headgate.elements import Batch
from headgate.functions.windows.assigner import WindowAssigner
from headgate.testing.harness import OperatorHarness

HOUR_MS: Final = 3_600_000
SECOND_MS: Final = 1_000
KEYS: Final = 50
PER_KEY: Final = 100


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass over the records took: nanoseconds for each record and each result, and the longest evaluation."""

    record_ns: float
    result_ns: float
    longest_ms: float


def operator(assigner: WindowAssigner[Any, Any]) -> OperatorHarness:
    """Return the operator that counts records in such windows."""

    def build(stream: DataStream) -> DataStream:
        return stream.key_by(key_of).window(assigner).aggregate(Counted())

    return OperatorHarness.of_stream(build)


def run(assigner: WindowAssigner[Any, Any], seconds: int) -> Pass:
    """Give the operator so many seconds of event time, with a watermark after each."""
    keys = [key for _ in range(PER_KEY) for key in range(KEYS)]
    records, spread = [(key, 1) for key in keys], [at * SECOND_MS // len(keys) for at in range(len(keys))]
    in_s = out_s = longest_s = 0.0
    results = 0
    with operator(assigner) as windows:
        for second in range(seconds):
            batch = Batch(records, [second * SECOND_MS + at for at in spread])
            batch.keys = keys
            begun_s = time.perf_counter()
            windows.operator.process(batch)
            added_s = time.perf_counter()
            results += len(windows.watermark((second + 1) * SECOND_MS - 1, 4_096))
            fired_s = time.perf_counter() - added_s
            in_s, out_s, longest_s = in_s + added_s - begun_s, out_s + fired_s, max(longest_s, fired_s)
    return Pass(in_s / (seconds * len(keys)) * 1e9, out_s / max(1, results) * 1e9, longest_s * 1e3)


def quiet_ms() -> float:
    """Return what a watermark takes that fires none of a million open windows: of 1,000 keys, 1,000 for each."""
    with operator(SlidingEventTimeWindows(1_000 * SECOND_MS, SECOND_MS, 0)) as windows:
        windows.process(*((key, 1) for key in range(1_000)), timestamp_ms=0)
        windows.watermark(1)
        took = []
        for watermark_ms in range(2, 900):
            begun_s = time.perf_counter()
            assert windows.operator.advance(watermark_ms, 4_096) is None
            took.append(time.perf_counter() - begun_s)
    return median(took) * 1e3


def measure() -> dict[str, float]:
    """Measure all of it once."""
    tumbling = run(TumblingEventTimeWindows(HOUR_MS, 0), 3_599)
    sliding = run(SlidingEventTimeWindows(HOUR_MS, SECOND_MS, 0), 7_200)
    return {
        "tumbling_ns": tumbling.record_ns,
        "sliding_ns": sliding.record_ns,
        "result_us": sliding.result_ns / 1e3,
        "longest_ms": sliding.longest_ms,
        "quiet_ms": quiet_ms(),
    }


if __name__ == "__main__":
    print(json.dumps(measure()), flush=True)
