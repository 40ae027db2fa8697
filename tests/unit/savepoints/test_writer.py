"""The savepoint writer: what it writes is what the reader reads, and nothing else is in the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.manifest import Manifest, decode, encode
from headgate.errors import ProgramError, RestoreError, SerializationError, StorageError
from headgate.savepoints import SavepointReader, SavepointWriter
from headgate.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headgate.state.files import InlineHandle
from headgate.state.ttl import StateTtlConfig
from headgate.types.instant import Time
from headgate.types.row import Row
from headgate.types.typeinfo import Types

SEEN = ValueStateDescriptor("seen", Types.LONG())
TAGS = ListStateDescriptor("tags", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def with_ttl(descriptor: StateDescriptor) -> StateDescriptor:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    return descriptor


def values_of(location: str, uid: str, name: str) -> dict[Any, Any]:
    with SavepointReader.read(location) as reader:
        return {entry.key: entry.value for entry in reader.entries(uid, name)}


def manifest_of(location: str) -> Manifest:
    path = Path(location, "_metadata")
    return decode(path.read_bytes(), str(path))


def test_each_kind_of_state_is_read_as_it_was_given(tmp_path: Path) -> None:
    total = ReducingStateDescriptor("sum", max, Types.LONG())
    location = (
        SavepointWriter.new(128, parallelism=3)
        .with_keyed_state("count", SEEN, {"ann": 7, "bob": 2**70})
        .with_keyed_state("count", TAGS, [("ann", ["a", "b"])])
        .with_keyed_state("count", RULES, {"ann": {"x": 1}})
        .with_keyed_state("count", total, pa.table({"key": ["ann"], "value": [3]}))
        .with_list_state("source", ListStateDescriptor("offsets", Types.LONG()), range(7))
        .with_union_list_state("source", ListStateDescriptor("all", Types.LONG()), [1, 2])
        .with_broadcast_state("rules", RULES, {"x": 1, "y": 2})
        .write(str(tmp_path / "made"))
    )
    with SavepointReader.read(location) as reader:
        found = {
            info.name: {entry.key: entry.value for entry in reader.entries("count", info.name)}
            for info in reader.states("count")
        }
        assert found == {
            "seen": {"ann": 7, "bob": 2**70},
            "tags": {"ann": ["a", "b"]},
            "rules": {"ann": {"x": 1}},
            "sum": {"ann": 3},
        }
        offsets = reader.list_state("source", "offsets")
        assert offsets["subtask"].to_pylist() == [0, 0, 0, 1, 1, 2, 2]
        assert offsets["value"].to_pylist() == list(range(7))
        assert reader.list_state("source", "all")["value"].to_pylist() == [1, 2]
        assert reader.broadcast_state("rules", "rules").to_pydict() == {"key": ["x", "y"], "value": [1, 2]}
        assert reader.keyed_state("count", "seen")["value_pickle"].null_count == 1  # of what no int64 holds
        assert [(info.uid, info.parallelism, info.max_parallelism) for info in reader.operators] == [
            ("count", 3, 128),
            ("source", 3, 128),
            ("rules", 3, 128),
        ]
        assert (reader.form, reader.checkpoint_id) == ("canonical", 1)
    assert {path.name for path in Path(location).iterdir()} == {*manifest_of(location).files(), "_metadata"}


def test_keys_lie_in_the_key_groups_in_which_a_job_looks_for_them(tmp_path: Path) -> None:
    keys = [*range(50), *map(str, range(50)), *((number, "a") for number in range(50)), Row(a=1), True]
    location = (
        SavepointWriter.new(16, parallelism=4).with_keyed_state("n", SEEN, dict.fromkeys(keys, 1)).write(str(tmp_path))
    )
    for subtask, state in manifest_of(location).operators[0].subtasks.items():
        assert state.keyed is not None
        assert state.keyed.key_groups == (4 * subtask, 4 * subtask + 3)
    assert values_of(location, "n", "seen") == dict.fromkeys(keys, 1)


def test_keys_of_several_types_in_different_subtasks_come_in_one_table(tmp_path: Path) -> None:
    keys = [1, "1", 2.5, (1, 2)]
    location = (
        SavepointWriter.new(128, parallelism=128)
        .with_keyed_state("n", SEEN, dict.fromkeys(keys, 1))
        .write(str(tmp_path))
    )
    assert values_of(location, "n", "seen") == dict.fromkeys(keys, 1)
    with SavepointReader.read(location) as reader:
        assert reader.keyed_state("n", "seen").column_names == ["key_group", "key", "key_pickle", "value"]


def test_time_to_live_counts_from_the_given_times_or_from_now(tmp_path: Path) -> None:
    maps = pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64()))
    table = pa.table({"key": ["ann"], "value": maps, "last_access_ms": [[5]]})
    location = (
        SavepointWriter.new(128)
        .with_keyed_state("n", with_ttl(ValueStateDescriptor("seen", Types.LONG())), {"ann": 7})
        .with_keyed_state("n", with_ttl(MapStateDescriptor("rules", Types.STRING(), Types.LONG())), table)
        .write(str(tmp_path))
    )
    with SavepointReader.read(location) as reader:
        (seen,) = reader.entries("n", "seen")
        assert (seen.value, seen.last_access_ms) == (7, reader.taken_ms)
        assert reader.keyed_state("n", "rules")["last_access_ms"].to_pylist() == [[5]]


def test_state_is_repaired_and_all_else_stays_as_it_is(tmp_path: Path) -> None:
    before = (
        SavepointWriter.new(128, parallelism=2)
        .with_keyed_state("count", SEEN, {"ann": 7, "bob": 8})
        .with_keyed_state("count", TAGS, {"ann": ["a"], "bob": []})
        .with_list_state("source", ListStateDescriptor("offsets", Types.STRING()), ["x" * 30_000])
        .with_broadcast_state("rules", RULES, {"x": 1})
        .write(str(tmp_path / "before"))
    )
    with SavepointReader.read(before) as reader:
        table = reader.keyed_state("count", "seen")
    table = table.set_column(table.column_names.index("value"), "value", pc.add(table["value"], 1))
    after = (
        SavepointWriter.from_existing(before)
        .with_keyed_state("count", SEEN, table)
        .with_keyed_state("new", SEEN, {1: 1})
        .change_uid("source", "numbers")
        .remove_operator("rules")
        .write(str(tmp_path / "after"))
    )
    assert values_of(after, "count", "seen") == {"ann": 8, "bob": 9}
    assert values_of(after, "count", "tags") == {"ann": ["a"], "bob": []}
    with SavepointReader.read(after) as reader:
        assert {each.uid for each in reader.operators} == {"count", "numbers", "new"}
        assert reader.list_state("numbers", "offsets")["value"].to_pylist() == ["x" * 30_000]
    old, new = manifest_of(before), manifest_of(after)
    assert (new.job_id, new.checkpoint_id) == (old.job_id, old.checkpoint_id)
    assert values_of(before, "count", "seen") == {"ann": 7, "bob": 8}


def test_a_key_selector_that_returns_rows_is_told_by_its_type(tmp_path: Path) -> None:
    table = pa.table({"key": pa.array([{"f0": 1}]), "value": [7]})
    kind = Types.ROW([Types.LONG()])
    tuples = SavepointWriter.new(128).with_keyed_state("n", SEEN, table).write(str(tmp_path / "tuples"))
    rows = SavepointWriter.new(128).with_keyed_state("n", SEEN, table, key_type=kind).write(str(tmp_path / "rows"))
    assert values_of(tuples, "n", "seen") == {(1,): 7}
    assert values_of(rows, "n", "seen") == {Row(1): 7}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    writer = SavepointWriter.new(128).with_keyed_state("n", SEEN, {1: 1})
    writer.write(str(tmp_path))
    with pytest.raises(StorageError, match="has files already"):
        writer.write(str(tmp_path))


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({1j: 1}, SerializationError, "complex cannot be a key"),
        ({1: [1]}, ProgramError, "map state 'rules' takes a dict for each key, but got a list for 1"),
        ([1], ProgramError, "pairs of key and value"),
        (pa.table({"key": [1], "value": [1]}), ProgramError, "column 'value' has the type int64, but the state"),
    ],
)
def test_data_that_do_not_fit_are_refused_and_no_savepoint_is_made(
    data: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    writer = SavepointWriter.new(128).with_keyed_state("n", RULES, data)
    with pytest.raises(error, match=message):
        writer.write(str(tmp_path))
    with pytest.raises(RestoreError):
        SavepointReader.read(str(tmp_path))


def test_what_is_no_descriptor_or_no_operator_is_refused() -> None:
    writer = SavepointWriter.new(128).with_keyed_state("a", SEEN, {}).with_keyed_state("b", SEEN, {})
    wrong: Any = "seen"
    with pytest.raises(ProgramError, match="by its descriptor, not 'seen'"):
        writer.with_keyed_state("a", wrong, {})
    with pytest.raises(ProgramError, match="by a ListStateDescriptor"):
        writer.with_list_state("a", wrong, [])
    with pytest.raises(ProgramError, match="by a MapStateDescriptor"):
        writer.with_broadcast_state("a", wrong, {})
    with pytest.raises(ProgramError, match="no operator of uid 'c' in the savepoint; there are: a, b"):
        writer.remove_operator("c")
    with pytest.raises(ProgramError, match="another one has it"):
        writer.change_uid("a", "b")
    with pytest.raises(ProgramError, match="must be from 1 to 32768"):
        SavepointWriter.new(2**16)


def test_a_checkpoint_with_data_in_flight_is_no_beginning(tmp_path: Path) -> None:
    location = SavepointWriter.new(128).with_keyed_state("n", SEEN, {1: 1}).write(str(tmp_path))
    found = manifest_of(location)
    flying = InFlightState(
        uid="n", input_index=0, source_uid="s", source=0, target=0, sequence=0, handle=InlineHandle(b"")
    )
    changed = encode(_with_in_flight(found, flying))
    Path(location, "_metadata").write_bytes(changed)
    with pytest.raises(RestoreError, match="data in flight, which would be lost"):
        SavepointWriter.from_existing(location)


def _with_in_flight(manifest: Manifest, flying: InFlightState) -> Manifest:
    return Manifest(**{name: getattr(manifest, name) for name in Manifest.__slots__} | {"in_flight": (flying,)})
