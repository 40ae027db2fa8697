"""Failed records are left out, and put out aside, exactly once, whatever else fails and restarts the job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import (
    DataStream,
    FailedRecord,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    RecordErrors,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.state import ValueStateDescriptor
from tests.scenarios.ledger import KEYS, key_of
from tests.scenarios.runs import Runs, on_every_backend

COUNT: Final = 300
UNREADABLE: Final = OutputTag("unreadable")
REFUSED: Final = OutputTag("refused")
STRIKES: set[int] = set()
"""The numbers at which the job fails still, once each."""


def strike(number: int) -> None:
    if number in STRIKES:
        STRIKES.remove(number)
        raise RuntimeError(f"planned fault at {number}")


class Read(MapFunction):
    """Reads a number; each seventh is a word."""

    def map(self, value: str) -> int:
        number = int(value)
        strike(number)
        return number


class Numbered(KeyedProcessFunction):
    """Counts the records of a key, refused ones too; refuses each fifth after it has put it out."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield "taken", ctx.get_current_key(), value, self.count.value()
        strike(-value)
        if value % 5 == 0:
            raise LookupError(f"nothing known of {value}")


def written(index: int) -> str:
    return f"word {index}" if index % 7 == 0 else str(index)


def shown(failed: FailedRecord) -> Any:
    return failed.operator, failed.key, failed.record, failed.error.splitlines()[-1]


def numbered(env: StreamExecutionEnvironment) -> DataStream:
    """Return the results of the program and what has failed, in one stream; records of a key come in order."""
    texts = env.from_source(DataGeneratorSource(written, COUNT, 1500), None, "texts").set_parallelism(1)
    read = texts.map(Read()).name("read").set_parallelism(1).on_error(RecordErrors.side_output(UNREADABLE, ValueError))
    taken = read.key_by(key_of).process(Numbered()).name("number")
    taken.on_error(RecordErrors.side_output(REFUSED, LookupError)).uid("number")
    return taken.union(read.get_side_output(UNREADABLE).map(shown), taken.get_side_output(REFUSED).map(shown))


def expected() -> Counter[Any]:
    seen: Counter[str] = Counter()
    results: Counter[Any] = Counter()
    for number in range(COUNT):
        if number % 7 == 0:
            error = f"ValueError: invalid literal for int() with base 10: 'word {number}'"
            results["read", None, f"word {number}", error] += 1
            continue
        key = key_of(number)
        seen[key] += 1
        refused = ("number", key, number, f"LookupError: nothing known of {number}")
        results[("taken", key, number, seen[key]) if number % 5 else refused] += 1
    return results


@on_every_backend
@pytest.mark.slow
def test_failed_records_are_put_out_exactly_once_when_the_job_restarts(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    STRIKES.clear()
    STRIKES.update({COUNT // 3 + 1, COUNT // 2, -(COUNT // 2 + 1), -(COUNT - KEYS + 1)})
    env = Runs(tmp_path, monkeypatch, **backend).environment(2)
    assert Counter(numbered(env).execute_and_collect()) == expected()
    assert set() == STRIKES


@pytest.mark.slow
def test_a_policy_may_be_set_and_changed_from_one_run_of_a_job_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    STRIKES.clear()
    runs = Runs(tmp_path, monkeypatch)

    def program(errors: RecordErrors, rate: int) -> tuple[StreamExecutionEnvironment, DataStream]:
        env = runs.environment(1)
        numbers = env.from_source(DataGeneratorSource(lambda index: index + 1, COUNT, rate), None, "numbers")
        return env, numbers.key_by(key_of).process(Numbered()).on_error(errors)

    env, results = program(RecordErrors.skip(LookupError), 200)
    results.print()
    runs.stop(env)
    env, results = program(RecordErrors.side_output(REFUSED), 100_000)
    results.map(lambda result: result[2]).print("taken")
    last = list(results.get_side_output(REFUSED).map(lambda failed: failed.record).execute_and_collect())
    assert last
    assert last == list(range(last[0], COUNT + 1, 5))
