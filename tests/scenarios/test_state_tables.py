"""The state of a running job, read as tables: always that of one checkpoint, and the newest there is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from headgate.checkpoint import paths
from headgate.common import Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor
from headgate.elements import MAX_TIMESTAMP
from headgate.errors import RestoreError
from headgate.savepoints import newest_checkpoint
from headgate.savepoints.state_table import StateTable
from tests.scenarios.paced import Paced
from tests.scenarios.runs import FULL, INCREMENTAL, ROCKSDB, Runs, wait_until

COUNT: Final = 100_000
BURST: Final = 100


class Account(KeyedProcessFunction):
    """Keeps what an account has, and how often that has changed."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.LONG()))
        self._moves = runtime_context.get_state(ValueStateDescriptor("moves", Types.LONG()))

    def process_element(self, value: tuple[int, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self._balance.update((self._balance.value() or 0) + value[1])
        self._moves.update((self._moves.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(MAX_TIMESTAMP - 1)
        return iter(())


def transfers(number: int) -> list[tuple[int, int]]:
    """Some money goes from one account to another: no money comes or goes."""
    return [(number % 17, -number), (number * 7 % 23, number)]


def job(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    numbers = env.from_source(Paced(COUNT, BURST), None, "numbers").uid("numbers")
    numbers.flat_map(transfers).key_by(lambda move: move[0]).process(Account()).uid("accounts").print()
    return env


def values(path: str, state: str, **options: str) -> list[Any]:
    table = StateTable.of({"path": path, "uid": "accounts", "state": state, **options})
    schema, pinned = table.schema(), table.pinned()
    return [row for part in pinned.parts() for batch in pinned.read(part, schema) for row in batch.to_pylist()]


def has_taken(running: Any, checkpoints: int) -> bool:
    return len(running.progress.checkpoints) >= checkpoints


@pytest.mark.parametrize("backend", [FULL, INCREMENTAL, pytest.param(ROCKSDB, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_running_job_is_read_again_and_again_and_each_time_all_is_of_one_checkpoint(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retained = {"execution.checkpointing.num-retained": "10000"}
    runs = Runs(tmp_path / "checkpoints", monkeypatch, **backend, **retained)
    running: Any = job(runs.environment(2)).submit()
    seen: list[int] = []
    for checkpoints in (1, 4):
        wait_until(partial(has_taken, running, checkpoints), running)
        newest = newest_checkpoint(str(runs.folder))
        balances = {row["key"]: row["value"] for row in values(newest, "balance")}
        moves = {row["key"]: row["value"] for row in values(newest, "moves")}
        assert sum(balances.values()) == 0
        assert sum(moves.values()) % 2 == 0
        assert balances.keys() == moves.keys() == {row["key"] for row in values(newest, "event", table="timers")}
        seen.append(sum(moves.values()))
    assert seen[0] < seen[1]
    running.cancel()
    running.wait(120.0)


@pytest.mark.slow
def test_of_a_job_that_keeps_one_checkpoint_a_table_is_whole_or_an_error_that_says_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path / "checkpoints", monkeypatch)
    running: Any = job(runs.environment(2)).submit()
    wait_until(partial(has_taken, running, 1), running)
    sums: list[int] = []
    errors: list[str] = []
    while not sums or not errors:
        pinned = StateTable.of({"path": str(runs.folder), "uid": "accounts", "state": "balance"}).pinned()
        if sums:
            wait_until(partial(has_taken, running, len(running.progress.checkpoints) + 2), running)
        try:
            schema = pa.schema([("value", pa.int64())])
            read = [batch for part in pinned.parts() for batch in pinned.read(part, schema)]
            sums.append(sum(sum(batch.column(0).to_pylist()) for batch in read))
        except RestoreError as error:
            errors.append(str(error))
    running.cancel()
    running.wait(120.0)
    assert {*sums} == {0}
    assert [error for error in errors if "is gone: the job has completed newer checkpoints" not in error] == []


def test_a_checkpoint_that_was_never_completed_is_passed_over_and_a_damaged_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path / "checkpoints", monkeypatch, **{"execution.checkpointing.num-retained": "3"})
    runs.stop(job(runs.environment(2)))
    newest = Path(newest_checkpoint(str(runs.folder)))
    number = int(newest.name.removeprefix("chk-"))
    begun = newest.with_name(f"chk-{number + 1}")
    begun.mkdir()
    (begun / paths.METADATA).write_text("{ begun")
    assert newest_checkpoint(str(runs.folder)) == str(newest)
    manifest = newest / paths.METADATA
    manifest.write_bytes(manifest.read_bytes().replace(b"accounts", b"Accounts", 1))
    with pytest.raises(RestoreError, match=rf"chk-{number}/_metadata"):
        newest_checkpoint(str(runs.folder))
    with pytest.raises(RestoreError, match="Bring the file back"):
        values(str(newest), "balance")
