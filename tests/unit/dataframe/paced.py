"""A source of columns whose splits a test paces, and jobs that stop with a savepoint and start from it.

A split has consecutive numbers `at`. It pauses after `LIMITS` of them, and ends there once `ENDS` is set.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any, Final

import pyarrow as pa

from headgate import dataframe as pf
from headgate.columns import logical_types as types
from headgate.columns.schema import Schema
from headgate.dataframe.dataframe import DataFrame
from headgate.dataframe.planner.logical import Scan
from headgate.dataframe.planner.plan_file import CompiledPlan
from headgate.dataframe.statement_set import StatementSet, TableResult
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.table.expressions import call_sql

SCHEMA: Final = Schema([("at", types.BIGINT), ("split", types.STRING)])
LIMITS: Final[Counter[str]] = Counter()
"""The rows of each split, by its name."""
ENDS: Final = Event()
READ: Final[Counter[str]] = Counter()
"""The rows of each split that were read, over all jobs."""


@dataclass(frozen=True)
class Split:
    """The numbers from `first` on; `done` of them were read."""

    name: str
    first: int
    done: int = 0


class InTurn(Source[Split]):
    """Reads a row of each split in turn."""

    watermarks_per_split = True

    def __init__(self, splits: Sequence[Split], columns: Sequence[str]) -> None:
        self._splits = list(splits)
        self._columns = list(columns)

    def splits(self, parallelism: int) -> list[Split]:
        return self._splits

    def split_id(self, split: Split) -> str:
        return split.name

    def reader(self, context: SourceContext) -> SourceReader[Split]:
        return InTurnReader(context, self._columns)


class InTurnReader(SourceReader[Split]):
    def __init__(self, context: SourceContext, columns: list[str]) -> None:
        self._columns = columns
        self._now_ms = context.monotonic_ms
        self._splits: list[Split] = []

    def add_splits(self, splits: list[Split]) -> None:
        self._splits += splits

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        for place, split in enumerate(self._splits):
            left = LIMITS[split.name] - split.done
            if left > 0 or ENDS.is_set():
                return self._row(self._splits.pop(place), rows=min(left, 1))
        return NotReady(self._now_ms() + 2)

    def _row(self, split: Split, rows: int) -> Records:
        ended = ENDS.is_set() and split.done + rows == LIMITS[split.name]
        if not ended:
            self._splits.append(replace(split, done=split.done + rows))
        READ[split.name] += rows
        columns = {"at": [split.first + split.done] * rows, "split": [split.name] * rows}
        batch = pa.RecordBatch.from_pydict(columns, SCHEMA.arrow).select(self._columns)
        return Records(batch, split=split.name, ended=ended)

    def snapshot(self) -> list[Split]:
        return self._splits


@dataclass(frozen=True)
class Splits:
    """The splits as a source of columns."""

    given: tuple[Split, ...]
    schema = SCHEMA
    conforms = True

    def source(self, columns: Sequence[str]) -> Source[Any]:
        return InTurn(self.given, columns)


def read(environment: Any, *splits: Split, rows: int = 20, ends: bool = True) -> DataFrame:
    """Return the rows of the splits with a computed time `ts`, `at` seconds after 1970. Forgets earlier jobs."""
    READ.clear()
    LIMITS.clear()
    LIMITS.update({split.name: rows for split in splits})
    ENDS.set() if ends else ENDS.clear()
    return source(environment, *splits)


def source(environment: Any, *splits: Split, name: str = "in turn") -> DataFrame:
    """Return the rows of the splits, from a source with this name."""
    frame = DataFrame(Scan(name, Splits(splits), tuple(SCHEMA.names)), environment)
    return frame.with_column("ts", call_sql("TO_TIMESTAMP_LTZ(`at` * 1000, 3)"))


def until(reached: Callable[[], bool]) -> None:
    """Return when it is so; fail after 30 seconds."""
    end = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < end, "nothing happens any more"
        time.sleep(0.002)


def stopped(frame: DataFrame, out: Path, savepoints: Path) -> str:
    """Run the frame until all rows are read; stop with a savepoint, and return its location."""
    job = submitted([frame], out).get_job_client()
    until(lambda: job.get_job_status().result().name == "FAILED" or READ == LIMITS)
    return str(job.stop_with_savepoint(False, str(savepoints)).result())


def resumed(  # noqa: PLR0913  # the parts of a start
    environment: Any, location: str, frames: Sequence[DataFrame], out: Path, rows: int, plan: CompiledPlan | None = None
) -> list[dict[str, Any]]:
    """Run frames from a savepoint until their splits have so many rows. Return all rows ever written of the first."""
    environment.get_config().set("execution.state-recovery.path", location)
    LIMITS.update({name: rows - limit for name, limit in LIMITS.items()})
    ENDS.set()
    submitted(frames, out, plan).wait()
    return written(out / "0")


def written(out: Path) -> list[dict[str, Any]]:
    """Return the rows that were written and are visible."""
    files = [own for own in out.rglob("*") if own.is_file() and not own.name.startswith((".", "_"))]
    return [json.loads(line) for own in files for line in own.read_text().splitlines()]


def submitted(frames: Sequence[DataFrame], out: Path, plan: CompiledPlan | None = None) -> TableResult:
    """Submit one job that writes each frame to a numbered folder."""
    return statements(frames, out).execute(plan)


def statements(frames: Sequence[DataFrame], out: Path) -> StatementSet:
    """Return the statement set of `submitted`."""
    found = pf.create_statement_set()
    for place, frame in enumerate(frames):
        frame.write_json(str(out / str(place)), statement_set=found)
    return found
