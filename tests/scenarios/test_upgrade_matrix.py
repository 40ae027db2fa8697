"""What can be done with which kind of snapshot: each cell of the table of docs/guides/savepoints.md."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Types
from headgate.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.state import ValueStateDescriptor
from headgate.errors import RestoreError
from headgate.savepoints import SavepointReader, SavepointWriter
from headgate.types.row import Row
from tests.compat import restoring
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import INCREMENTAL, ROCKSDB
from tests.scenarios.snapshots import COUNT, Kind, Slow, Snapshots, manifest_at, slow_ledger

pytestmark = pytest.mark.slow

FILES_OF_ROCKSDB: Final = {**ROCKSDB, **INCREMENTAL}


# --- the rows


def change_backend(kind: Kind, jobs: Snapshots) -> None:
    """Only tables go from RocksDB to the hash map; everything goes the other way."""
    jobs.goes_on(jobs.take(kind, settings=INCREMENTAL), settings=FILES_OF_ROCKSDB)
    location = jobs.take(kind, settings=FILES_OF_ROCKSDB)
    if kind is Kind.CANONICAL:
        jobs.goes_on(location, parallelism=3)
    else:
        jobs.is_refused(location, "is in files of RocksDB, which the backend hashmap cannot read")


def write_with_the_writer(kind: Kind, jobs: Snapshots) -> None:
    """A new savepoint is made of any snapshot that has nothing in flight."""
    location, made = jobs.take(kind), str(jobs.folder / "made")
    if kind is Kind.UNALIGNED:
        with pytest.raises(RestoreError, match="unaligned checkpoint with data in flight, which would be lost"):
            SavepointWriter.from_existing(location)
    else:
        jobs.goes_on(SavepointWriter.from_existing(location).write(made))


def read_with_the_reader(kind: Kind, jobs: Snapshots) -> None:
    with SavepointReader.read(jobs.take(kind)) as snapshot:
        counts, values = (
            {row["key"]: row["value"] for row in snapshot.keyed_state("ledger", name).to_pylist()}
            for name in ("count", "values")
        )
    assert counts
    for key, seen in values.items():
        first = int(key.split()[1])
        assert seen == list(range(first, COUNT, ledger.KEYS))[: counts[key]]


def move(kind: Kind, jobs: Snapshots) -> None:
    """A savepoint is moved alone, a checkpoint with the folder of its job."""
    location = Path(jobs.take(kind))
    moved = jobs.folder / "elsewhere" / "and renamed"
    moved.parent.mkdir()
    if kind.is_savepoint:
        shutil.move(location, moved)
        jobs.goes_on(str(moved))
        return
    shutil.copytree(location, moved)
    jobs.is_refused(str(moved), "a checkpoint cannot be moved or renamed")
    shutil.rmtree(moved)
    shutil.move(location.parent, moved)
    jobs.goes_on(str(moved / location.name))


BEFORE: Final = Types.ROW_NAMED(["count"], [Types.INT()])
AFTER: Final = Types.ROW_NAMED(["count", "mark"], [Types.LONG(), Types.STRING()], {"mark": "old"})


class Evolving(Slow):
    """A slow ledger that counts in rows as well; `row_type` is that of its release."""

    row_type = BEFORE

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self.row = runtime_context.get_state(ValueStateDescriptor("row", self.row_type))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        before = self.row.value()
        yield from super().process_element(value, ctx)
        count = 1 if before is None else before["count"] + 1
        assert count == self.count.value()
        self.row.update(self.counted(before, count))

    def counted(self, before: Row | None, count: int) -> Row:
        return Row(count=count)


class Evolved(Evolving):
    row_type = AFTER

    def counted(self, before: Row | None, count: int) -> Row:
        assert before is None or before["mark"] in ("old", "new")
        return Row(count=count, mark="new")


def evolving(function: KeyedProcessFunction) -> Callable[[StreamExecutionEnvironment], DataStream]:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return ledger.numbers(env, COUNT, COUNT).key_by(ledger.key_of).process(function).uid("ledger")

    return program


def change_types_of_state(kind: Kind, jobs: Snapshots) -> None:
    jobs.goes_on(jobs.take(kind, evolving(Evolving())), evolving(Evolved()), parallelism=3)


class OfPairs(Slow):
    """A ledger that gets each number as a text with its key."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        return super().process_element(int(value[1]), ctx)


def rebuilt(env: StreamExecutionEnvironment) -> DataStream:
    """The same out of other records, by way of new operators that run elsewhere."""
    pairs = ledger.numbers(env, COUNT, COUNT).map(lambda value: (ledger.key_of(value), str(value))).uid("pairs")
    some = pairs.rebalance().filter(lambda pair: True).uid("all").set_parallelism(1)
    return some.key_by(lambda pair: pair[0]).process(OfPairs()).uid("ledger")


class Idle(MapFunction):
    """Takes its time, so that records wait before it."""

    def map(self, value: int) -> int:
        if not HURRY.is_set():
            time.sleep(0.001)
        return value


def with_a_stop_between(env: StreamExecutionEnvironment) -> DataStream:
    """A ledger, and an operator without state before it, which records wait for."""
    passed = ledger.numbers(env, COUNT, COUNT).key_by(ledger.key_of).map(Idle()).uid("stop")
    return passed.key_by(ledger.key_of).process(ledger.Ledger()).uid("ledger")


def change_anything(kind: Kind, jobs: Snapshots) -> None:
    """Operators come and go, records are of other types and go other ways; but nobody goes whom records wait for."""
    location = jobs.take(kind, with_a_stop_between)
    if kind is Kind.UNALIGNED:
        jobs.is_refused(location, "records that were on their way to the operator of uid 'stop'")
        return
    jobs.goes_on(location)
    jobs.goes_on(location, rebuilt, parallelism=3)


class Rewritten(Slow):
    """Another class that keeps the same state."""


def change_the_code(kind: Kind, jobs: Snapshots) -> None:
    """Shape and types of records stay; operators without state may change."""

    def program(env: StreamExecutionEnvironment) -> DataStream:
        return ledger.numbers(env, COUNT, COUNT).key_by(ledger.key_of).process(Rewritten()).name("new").uid("ledger")

    jobs.goes_on(jobs.take(kind), program)


def change_the_release(kind: Kind, jobs: Snapshots) -> None:
    """Snapshots of every version are there, and are restored; `tests/compat` restores all, with every backend."""
    names = {Kind.CANONICAL: "canonical", Kind.NATIVE: "native", Kind.ALIGNED: "full", Kind.UNALIGNED: "unaligned"}
    found = sorted(restoring.GOLDEN.glob(f"v*/*-{names[kind]}"))
    assert found
    for kept in found:
        backend = kept.name.partition("-")[0]
        restoring.restore(kept, jobs.folder / kept.parent.name / kept.name, backend, restoring.PARALLELISM)


def change_the_parallelism(kind: Kind, jobs: Snapshots) -> None:
    location = jobs.take(kind)
    for parallelism in (1, 3):
        jobs.goes_on(location, parallelism=parallelism)


ROWS: Final = (
    change_backend,
    write_with_the_writer,
    read_with_the_reader,
    move,
    change_types_of_state,
    change_anything,
    change_the_code,
    change_the_release,
    change_the_parallelism,
)


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__)
def test_cell(row: Callable[[Kind, Snapshots], None], kind: Kind, tmp_path: Path) -> None:
    row(kind, Snapshots(tmp_path))


def test_the_documentation_has_these_rows_and_columns() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "savepoints.md").read_text()
    table = page.partition("## What each kind of snapshot allows")[2].partition("\n\n`tests")[0].strip().splitlines()
    assert len(table) - 2 == len(ROWS)
    assert table[0].count("|") - 2 == len(Kind)


def test_no_snapshot_but_an_unaligned_checkpoint_has_data_in_flight(tmp_path: Path) -> None:
    jobs = Snapshots(tmp_path)
    for kind in Kind:
        assert bool(manifest_at(jobs.take(kind, slow_ledger)).in_flight) == (kind is Kind.UNALIGNED)
