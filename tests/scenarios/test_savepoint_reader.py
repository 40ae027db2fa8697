"""The savepoint reader and writer on the checkpoints of jobs, whatever backend and kind of checkpoint they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.common import Types
from headgate.datastream.state import ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor
from headgate.datastream.state import ValueStateDescriptor as Value
from headgate.savepoints import SavepointReader, SavepointWriter
from tests.scenarios import ledger
from tests.scenarios.runs import MAX_PARALLELISM, Runs, on_every_backend
from tests.scenarios.test_timers import COUNT as REMINDED
from tests.scenarios.test_timers import FAR_MS, remind

COUNT = 1200


@on_every_backend
@pytest.mark.slow
def test_a_retained_checkpoint_of_any_kind_is_read_as_it_is_restored(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **backend)
    env = runs.environment(2)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env)
    with SavepointReader.read(str(runs.folder / f"chk-{runs.latest}")) as reader:
        assert {operator.uid for operator in reader.operators} >= {"numbers", "ledger", "seen"}
        assert {state.name for state in reader.states("ledger")} == {
            *("count", "values", "tails", "total", "extent", "seal")
        }
        columns = {
            name: reader.keyed_state("ledger", name).select(["key", "value"]).to_pylist()
            for name in ("count", "values", "tails", "total", "seal")
        }
        extents = {entry.key: entry.value for entry in reader.entries("ledger", "extent")}
        position = reader.list_state("numbers", reader.operators[0].list_states[0])
    found = {name: {row["key"]: row["value"] for row in rows} for name, rows in columns.items()}
    assert len(found["count"]) == ledger.KEYS
    assert sum(found["count"].values()) >= ledger.BURST
    for key, count in found["count"].items():
        first = int(key.split()[1])
        values = [first + number * ledger.KEYS for number in range(count)]
        assert found["values"][key] == values
        assert sum(number for _, number in found["tails"][key]) == count
        assert found["total"][key] == sum(values)
        assert extents[key] == [values[0], values[-1]]
        assert found["seal"][key] == key * 100
    assert len(position) > 0


@pytest.mark.slow
@pytest.mark.parametrize("restored_by", ["hashmap", "rocksdb"])
def test_a_job_goes_on_from_state_that_was_made_of_data(
    restored_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its source begins at the start, and finds the ledger as if it had been at work before."""
    before = {f"key {number}": [number - 2 * ledger.KEYS, number - ledger.KEYS] for number in range(ledger.KEYS)}
    total = ReducingStateDescriptor("total", max, Types.LONG())
    tails = MapStateDescriptor("tails", Types.STRING(), Types.LONG())
    location = (
        SavepointWriter.new(MAX_PARALLELISM, parallelism=2)
        .with_keyed_state("ledger", Value("count", Types.LONG()), dict.fromkeys(before, 2))
        .with_keyed_state("ledger", Value("seal", Types.STRING()), {key: key * 100 for key in before})
        .with_keyed_state("ledger", ListStateDescriptor("values", Types.LONG()), before)
        .with_keyed_state("ledger", total, {key: sum(values) for key, values in before.items()})
        .with_keyed_state("ledger", tails, {key: {"x": 2} for key in before})
        .write(str(tmp_path / "made"))
    )
    settings = {"execution.state-recovery.path": location, "state.backend.type": restored_by}
    runs = Runs(tmp_path / "job", monkeypatch, **settings)
    env = runs.environment(3)
    ledger.seen_of(ledger.written(env, ledger.KEYS, burst=ledger.KEYS))
    runs.finish(env)
    assert {entry[0]: (entry[2], entry[3], entry[5]) for entry in ledger.SEEN} == {
        key: (3, [*values, int(key.split()[1])], sum(values) + int(key.split()[1])) for key, values in before.items()
    }
    assert {entry[4]["x"] for entry in ledger.SEEN} == {2}


@pytest.mark.slow
def test_a_job_goes_on_from_a_checkpoint_that_was_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path / "first", monkeypatch)
    env = runs.environment(2)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env)
    checkpoint = str(runs.folder / f"chk-{runs.latest}")
    with SavepointReader.read(checkpoint) as reader:
        totals = {entry.key: entry.value for entry in reader.entries("ledger", "total")}
    repaired = {key: total + 1_000_000 for key, total in totals.items()}
    location = (
        SavepointWriter.from_existing(checkpoint)
        .with_keyed_state("ledger", ReducingStateDescriptor("total", max, Types.LONG()), repaired)
        .write(str(tmp_path / "repaired"))
    )
    runs = Runs(tmp_path / "second", monkeypatch, **{"execution.state-recovery.path": location})
    env = runs.environment(3)
    ledger.seen_of(ledger.written(env, COUNT, burst=COUNT))
    runs.finish(env)
    assert ledger.SEEN != []
    assert len(ledger.SEEN) < COUNT  # it went on where the checkpoint was
    assert all(entry[5] == sum(entry[3]) + 1_000_000 for entry in ledger.SEEN)


@pytest.mark.slow
def test_timers_are_read_and_go_along_into_a_new_savepoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path / "first", monkeypatch)
    env = runs.environment(2)
    remind(env, ledger.BURST)
    runs.stop(env)
    checkpoint = str(runs.folder / f"chk-{runs.latest}")
    with SavepointReader.read(checkpoint) as reader:
        table = reader.timers("reminding")
        assert reader.timers("reminding", "processing").num_rows == 0
    assert table.column_names == ["key_group", "key", "timestamp_ms"]
    times = sorted(table["timestamp_ms"].to_pylist(), reverse=True)
    assert len(times) >= ledger.BURST
    assert times == [FAR_MS - value for value in range(len(times))]
    assert all(row["key"] == ledger.key_of(FAR_MS - row["timestamp_ms"]) for row in table.to_pylist())
    location = SavepointWriter.from_existing(checkpoint).write(str(tmp_path / "copy"))
    runs = Runs(tmp_path / "second", monkeypatch, **{"execution.state-recovery.path": location})
    env = runs.environment(3)
    remind(env, REMINDED)
    runs.finish(env)
    assert sorted(ledger.SEEN) == sorted((ledger.key_of(value), FAR_MS - value) for value in range(REMINDED))
