"""The size of each state over REST: of a job with a large and a small one, with all backends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.unit.web.served import serving, until

KEYS = 300
ENTRIES = 10
VALUE, TEXTS, KEY = 3, ENTRIES * (40 + 8), 12
"""About how many bytes a key has of each."""
SETTINGS = {
    "execution__checkpointing__interval": "200 ms",
    "execution__checkpointing__num-retained": "50",
}
INCREMENTAL = {"execution__checkpointing__incremental": "true"}
ROCKSDB = {"state__backend__type": "rocksdb"}
CHANGELOG = {"state__changelog__enabled": "true"}


class Keep(KeyedProcessFunction):
    """Keeps a number and a map of random texts for each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.small = runtime_context.get_state(ValueStateDescriptor("small", Types.LONG()))
        self.large = runtime_context.get_map_state(MapStateDescriptor("large", Types.STRING(), Types.STRING()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.small.update((self.small.value() or 0) + 1)
        if self.large.is_empty():
            for number in range(ENTRIES):
                self.large.put(f"{number}", random.Random(value).randbytes(20).hex())
        yield from ()


class KeepOne(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.one = runtime_context.get_state(ValueStateDescriptor("one", Types.STRING()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.one.update("x" * 20)
        yield from ()


def keeping(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**9), 3000), None, "numbers").uid("numbers")
    keyed = numbers.key_by(lambda number: f"key {number % KEYS:04}")
    keyed.process(Keep()).uid("both").print()
    keyed.process(KeepOne()).uid("one").print()


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend",
    [{}, INCREMENTAL, CHANGELOG, ROCKSDB, ROCKSDB | INCREMENTAL, ROCKSDB | CHANGELOG],
    ids=["hashmap", "incremental", "changelog", "rocksdb", "rocksdb-incremental", "rocksdb-changelog"],
)
def test_each_state_has_its_share_of_the_operator(backend: dict[str, str], tmp_path: Path) -> None:
    with serving(keeping, headgate__storage__dir=str(tmp_path), **SETTINGS, **backend) as job:
        handle: Any = job.job
        until(lambda: sum(handle.progress.records_in.values()) > 6 * KEYS)
        seen = job.get("/jobs/JOB/checkpoints")["counts"]["completed"]
        until(lambda: job.get("/jobs/JOB/checkpoints")["counts"]["completed"] > seen + 1)
        found = {each["uid"]: each for each in job.get("/jobs/JOB/state?uid=both&uid=one")["operators"]}
    assert set(found) == {"both", "one"}
    large, small = found["both"]["states"]
    assert (large["name"], large["exact"], small["name"], small["exact"]) == ("large", False, "small", False)
    assert large["bytes"] + small["bytes"] == pytest.approx(found["both"]["bytes"], abs=1)
    assert large["bytes"] / found["both"]["bytes"] == pytest.approx((TEXTS + KEY / 2) / (TEXTS + VALUE + KEY), rel=0.03)
    (one,) = found["one"]["states"]
    assert (one["bytes"], one["exact"]) == (found["one"]["bytes"], True)
