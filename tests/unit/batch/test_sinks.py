"""Sinks of batch jobs: committed once, at the end, by the driver; of a job that fails nothing is seen or left over."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, ClassVar

import pytest
from deltalake import DeltaTable

from headgate.batch import commit
from headgate.common.serialization import Encoder
from headgate.common.typeinfo import Types
from headgate.connectors.delta import DeltaSink
from headgate.connectors.files.sink import FileSink
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.datastream import DataStream, SinkFunction, StreamExecutionEnvironment
from headgate.errors import JobFailedError, SinkError
from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import (
    Committer,
    GlobalCommitter,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkIdentity,
    SinkWriter,
)
from headgate.ids import CheckpointId
from tests.unit.batch.environments import batch
from tests.unit.operators.functions import time_of

CALLS: Counter[str] = Counter()
SEEN: defaultdict[str, list[Any]] = defaultdict(list)


@pytest.fixture(autouse=True)
def _clear() -> None:
    CALLS.clear()
    SEEN.clear()
    Shelf.troubles = []


class Shelf(Sink[Any]):
    """A two-phase sink whose commits fail as planned; `together` has it commit for all subtasks first."""

    troubles: ClassVar[list[SinkError]] = []

    def __init__(self, *, together: bool = False, broken: bool = False) -> None:
        self.together = together
        self.broken = broken

    def prepare(self, identity: SinkIdentity) -> None:
        CALLS["prepare"] += 1
        if self.broken:
            raise SinkError("the shelf is broken")

    def discard(self, identity: SinkIdentity) -> None:
        CALLS["discard"] += 1

    def release(self, identity: SinkIdentity) -> None:
        CALLS["release"] += 1

    def writer(self, context: SinkContext) -> SinkWriter[Any]:
        return ShelfWriter(context.subtask)

    def committer(self, context: SinkContext) -> Committer[Any]:
        return ShelfCommitter()

    def global_committer(self) -> GlobalCommitter[Any] | None:
        return WholeShelf() if self.together else None


class ShelfWriter(SinkWriter[Any]):
    def __init__(self, subtask: int) -> None:
        self.subtask = subtask
        self.taken: list[Any] = []

    def write(self, records: list[Any]) -> None:
        self.taken += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Any]:
        SEEN["prepared"].append((self.subtask, checkpoint_id))
        return [self.taken] if self.taken else []

    def close(self) -> None:
        CALLS["close"] += 1


class ShelfCommitter(Committer[Any]):
    def recover(self, restored: list[Any]) -> None:
        SEEN["recovered"].append(restored)

    def commit(self, committables: list[Any]) -> None:
        if Shelf.troubles:
            raise Shelf.troubles.pop(0)
        SEEN["committed"] += [record for each in committables for record in each]


class WholeShelf(GlobalCommitter[Any]):
    def commit(self, checkpoint_id: CheckpointId, committables: list[Any]) -> None:
        SEEN["together"].append((checkpoint_id, sorted(record for each in committables for record in each)))
        assert SEEN["committed"] == []  # subtasks commit behind it

    def abort(self, checkpoint_id: CheckpointId, committables: list[Any]) -> None:
        SEEN["aborted"].append((checkpoint_id, sorted(record for each in committables for record in each)))


def numbers(env: StreamExecutionEnvironment, count: int = 6) -> DataStream:
    return env.from_source(NumberSequenceSource(0, count - 1), None, "numbers")


def test_everything_is_committed_once_when_all_tasks_have_ended() -> None:
    env = batch().set_parallelism(3)
    numbers(env).sink_to(Shelf())
    numbers(env).map(lambda number: (SEEN["committed"] and 1 // 0) or number).print()
    env.execute()
    assert sorted(SEEN["committed"]) == list(range(6))
    assert sorted(SEEN["prepared"]) == [(0, 1), (1, 1), (2, 1)]
    assert CALLS == {"prepare": 1, "release": 1, "close": 3}


def test_what_all_tasks_have_prepared_is_committed_in_one_step() -> None:
    env = batch().set_parallelism(3)
    numbers(env).sink_to(Shelf(together=True))
    env.execute()
    assert SEEN["together"] == [(1, [0, 1, 2, 3, 4, 5])]
    assert sorted(SEEN["committed"]) == list(range(6))


def test_a_commit_that_is_put_off_is_made_a_while_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "_PAUSE_S", 0.001)
    Shelf.troubles = [RetriableCommitError("not now"), RetriableCommitError("nor now")]
    env = batch()
    numbers(env).sink_to(Shelf())
    env.execute()
    assert sorted(SEEN["committed"]) == list(range(6))


def test_a_commit_that_is_put_off_too_often_fails_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "_PAUSE_S", 0.001)
    Shelf.troubles = [RetriableCommitError("not now")] * 3
    env = batch(**{"sink.committer.retries": "2"})
    numbers(env).sink_to(Shelf())
    with pytest.raises(JobFailedError, match="RetriableCommitError: not now"):
        env.execute()
    assert Shelf.troubles == []
    assert CALLS["discard"] == 0  # other sinks may have committed: what is prepared stays
    assert CALLS["release"] == 1


def test_a_commit_that_fails_fails_the_job() -> None:
    Shelf.troubles = [SinkError("the shelf has fallen")]
    env = batch()
    numbers(env).sink_to(Shelf())
    with pytest.raises(JobFailedError, match=r"SinkError: the shelf has fallen\n.*some results may be committed"):
        env.execute()


def test_user_code_that_fails_commits_nothing_and_has_what_was_prepared_removed() -> None:
    env = batch().set_parallelism(2)
    numbers(env).sink_to(Shelf())
    numbers(env).map(lambda number: 1 // (number - 5)).print()
    with pytest.raises(JobFailedError, match="ZeroDivisionError") as failure:
        env.execute()
    assert "committed" not in str(failure.value)
    assert SEEN["prepared"] != []
    assert SEEN["committed"] == []
    assert CALLS == {"prepare": 1, "discard": 1, "release": 1, "close": 2}


def test_of_a_job_that_fails_what_was_prepared_is_aborted_in_one_step() -> None:
    env = batch().set_parallelism(2)
    numbers(env).sink_to(Shelf(together=True))
    numbers(env).map(lambda number: 1 // (number - 5)).print()
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        env.execute()
    assert SEEN["aborted"] == [(1, [0, 1, 2, 3, 4, 5])]
    assert (SEEN["together"], CALLS["discard"]) == ([], 1)


def test_where_nothing_was_written_nothing_is_committed() -> None:
    Shelf.troubles = [SinkError("there is nothing to commit")]
    env = batch()
    numbers(env).filter(lambda number: False).sink_to(Shelf(together=True))
    env.execute()
    assert SEEN["together"] == []
    assert SEEN["recovered"] == [[], []]  # by the task, and at the end


class StuckShelf(Shelf):
    """A shelf that nothing can be taken from."""

    def discard(self, identity: SinkIdentity) -> None:
        raise SinkError("the shelf is stuck")


def test_a_sink_that_cannot_remove_what_was_prepared_keeps_no_other_from_it() -> None:
    env = batch()
    numbers(env).sink_to(StuckShelf())
    numbers(env).sink_to(Shelf())
    numbers(env).map(lambda number: 1 // (number - 5)).print()
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        env.execute()
    assert (CALLS["discard"], CALLS["release"]) == (1, 2)


def test_a_sink_that_cannot_be_used_ends_the_job_before_anything_runs() -> None:
    env = batch()
    numbers(env).map(lambda number: CALLS.update(["map"])).sink_to(Shelf())
    numbers(env).sink_to(Shelf(broken=True))
    with pytest.raises(JobFailedError, match="SinkError: the shelf is broken"):
        env.execute()
    assert CALLS == {"prepare": 2, "release": 1}


class Table(FlushingSink):
    def flushing_writer(self, context: SinkContext) -> FlushingWriter:
        return TableWriter()


class TableWriter(FlushingWriter):
    def write(self, records: list[Any]) -> None:
        SEEN["written"] += records

    def flush(self) -> None:
        CALLS["flush"] += 1


def test_a_sink_without_a_second_phase_is_flushed_at_the_end_of_each_task() -> None:
    env = batch().set_parallelism(2)
    numbers(env).sink_to(Table())
    env.execute()
    assert sorted(SEEN["written"]) == list(range(6))
    assert CALLS["flush"] == 2


class Seeing(SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        SEEN["seen"].append((value, time_of(context)))

    def close(self) -> None:
        CALLS["close"] += 1


def test_a_sink_function_is_called_for_each_record() -> None:
    env = batch()
    env.from_collection([1, 2]).add_sink(Seeing())
    env.execute()
    assert SEEN["seen"] == [(1, None), (2, None)]
    assert CALLS["close"] == 1


def file_sink(folder: Path) -> Any:
    return FileSink.for_row_format(str(folder), Encoder.simple_string_encoder()).build()


def lines(folder: Path) -> list[str]:
    return sorted(line for part in folder.rglob("part-*") for line in part.read_text().splitlines())


def test_files_are_there_when_the_job_has_ended_and_nothing_else(tmp_path: Path) -> None:
    env = batch().set_parallelism(2)
    numbers(env).sink_to(file_sink(tmp_path))
    env.execute()
    assert lines(tmp_path) == [*"012345"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith("part-")] == []


def test_of_a_job_that_fails_no_file_is_left(tmp_path: Path) -> None:
    env = batch().set_parallelism(2)
    numbers(env).sink_to(file_sink(tmp_path))
    numbers(env).map(lambda number: 1 // (number - 5)).print()
    with pytest.raises(JobFailedError):
        env.execute()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_two_batch_jobs_add_to_one_folder(tmp_path: Path) -> None:
    for _ in range(2):
        env = batch()
        numbers(env, 2).sink_to(file_sink(tmp_path))
        env.execute()
    assert lines(tmp_path) == [*"0011"]


def test_a_delta_table_gets_one_version(tmp_path: Path) -> None:
    env = batch().set_parallelism(2)
    typed = numbers(env).map(lambda number: (number,), Types.ROW_NAMED(["number"], [Types.LONG()]))
    table = str(tmp_path / "numbers")
    typed.sink_to(DeltaSink(table, Types.ROW_NAMED(["number"], [Types.LONG()])))
    env.execute()
    found = DeltaTable(table)
    assert sorted(row["number"] for row in found.to_pyarrow_table().to_pylist()) == list(range(6))
    assert [each["operation"] for each in found.history()] == ["WRITE", "CREATE TABLE"]
