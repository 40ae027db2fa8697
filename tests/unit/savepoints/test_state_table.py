"""Tables of state for query engines: what they have, in which parts, and what is said when they cannot be read."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.errors import DamagedFileError, HeadgateError, ProgramError, RestoreError
from headgate.savepoints import SavepointReader, SavepointWriter
from headgate.savepoints.state_table import StateTable
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.types.typeinfo import Types

VISITS = ValueStateDescriptor("visits", Types.LONG())
PAGES = MapStateDescriptor("pages", Types.STRING(), Types.TUPLE([Types.LONG(), Types.STRING()]))
OFFSETS = ListStateDescriptor("offsets", Types.LONG())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
KEYS = {f"key {n}": n for n in range(3000)}


@pytest.fixture
def savepoint(tmp_path: Path) -> str:
    return (
        SavepointWriter.new(128, parallelism=3)
        .with_keyed_state("count", VISITS, KEYS)
        .with_keyed_state("count", PAGES, {"ann": {"/": (2, "x")}})
        .with_list_state("source", OFFSETS, [7, 8, 9])
        .with_broadcast_state("rules", RULES, {"max": 5})
        .write(str(tmp_path / "savepoint"))
    )


def table(path: str, **options: str) -> StateTable:
    return StateTable.of({"path": path, **options})


def rows(found: StateTable, schema: pa.Schema | None = None) -> list[dict[str, Any]]:
    columns = found.schema() if schema is None else schema
    sent: StateTable = pickle.loads(pickle.dumps(found))  # noqa: S301  # as it travels to the tasks
    return [row for part in found.parts() for batch in sent.read(part, columns) for row in batch.to_pylist()]


def test_the_parts_are_those_of_the_subtasks_and_together_they_are_the_state(savepoint: str) -> None:
    found = table(savepoint, uid="count", state="visits")
    assert found.parts() == [0, 1, 2]
    sizes = [sum(batch.num_rows for batch in found.read(part, found.schema())) for part in found.parts()]
    assert min(sizes) > 0
    assert sum(sizes) == 3000
    assert {row["key"]: row["value"] for row in rows(found)} == KEYS


def test_columns_are_typed_and_nested(savepoint: str) -> None:
    found = table(savepoint, uid="count", state="pages")
    assert found.schema().field("value").type.item_type == pa.struct([("f0", pa.int64()), ("f1", pa.string())])
    [row] = rows(found)
    assert (row["key"], row["value"]) == ("ann", [("/", {"f0": 2, "f1": "x"})])


def test_a_schema_of_ones_own_chooses_columns_and_then_nothing_is_read_to_find_them_out(savepoint: str) -> None:
    found = rows(table(savepoint, uid="count", state="visits"), pa.schema([("value", pa.int64())]))
    assert sorted(row["value"] for row in found) == list(range(3000))
    assert {tuple(row) for row in found} == {("value",)}


def test_list_and_broadcast_states_are_tables(savepoint: str) -> None:
    offsets = rows(table(savepoint, table="list", uid="source", state="offsets"))
    assert sorted(row["value"] for row in offsets) == [7, 8, 9]
    assert rows(table(savepoint, table="broadcast", uid="rules", state="rules")) == [{"key": "max", "value": 5}]


def test_without_a_state_all_states_are_listed(savepoint: str) -> None:
    found = rows(table(savepoint))
    assert [(row["uid"], row["table"], row["state"], row["entries"]) for row in found] == [
        ("count", "keyed", "pages", 1),
        ("count", "keyed", "visits", 3000),
        ("source", "list", "offsets", 3),
        ("rules", "broadcast", "rules", 1),
    ]
    assert {row["checkpoint_id"] for row in found} == {1}
    assert [row["state"] for row in rows(table(savepoint, uid="rules"))] == ["rules"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give the option path"),
        ({"path": "x", "table": "queue"}, "'queue': the option table must be one of keyed, timers, list, broadcast"),
        ({"path": "x", "state": "visits"}, "give the option uid as well"),
        ({"path": "x", "uid": "u", "table": "timers", "state": "wall"}, "the option state must be event or processing"),
        ({"path": "p", "uidd": "count"}, "there is no option 'uidd': a table has path, uid, state, table"),
    ],
)
def test_options_that_make_no_table_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(ProgramError, match=said):
        StateTable.of(options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"uid": "counts", "state": "visits"}, "no operator of uid 'counts'"),
        ({"uid": "count", "state": "visit"}, "'count' has no values of a keyed state 'visit'.*to see which there are"),
        ({"uid": "source", "state": "offset", "table": "list"}, "no split or union state 'offset'"),
    ],
)
def test_a_state_that_is_not_there_is_named(savepoint: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(RestoreError, match=said):
        table(savepoint, **options).schema()


def test_a_place_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RestoreError, match="there is no complete checkpoint in"):
        table(str(tmp_path), uid="count", state="visits").pinned()
    with pytest.raises(RestoreError, match="there is no snapshot"):
        table(str(tmp_path / "chk-3"), uid="count", state="visits").parts()


def test_keys_of_several_types_are_refused_and_never_bent(tmp_path: Path) -> None:
    mixed: dict[Any, int] = {**{n: n for n in range(50)}, **{f"key {n}": n for n in range(50)}}
    path = SavepointWriter.new(128, parallelism=1).with_keyed_state("count", VISITS, mixed).write(str(tmp_path / "s"))
    found = table(path, uid="count", state="visits")
    keys = [pickle.loads(row["key_pickle"]) if row["key"] is None else row["key"] for row in rows(found)]  # noqa: S301
    assert {*keys} == {*mixed}
    text = pa.schema([("key", pa.string()), ("value", pa.string())])
    told = r"column 'value' is int64 in count/visits, subtask 0, of .*, but string .* the given schema is wrong"
    with pytest.raises(RestoreError, match=told):
        rows(found, text)
    with pytest.raises(RestoreError, match="no column 'keys' in"):
        rows(found, pa.schema([("keys", pa.string())]))


def test_a_snapshot_that_goes_while_it_is_read_is_an_error_that_says_what_to_do(savepoint: str) -> None:
    found = table(savepoint, uid="count", state="visits")
    columns = found.schema()
    shutil.rmtree(savepoint)
    with pytest.raises(RestoreError, match=r"is gone: .*Load the table again.*num-retained"):
        list(found.read(0, columns))
    with pytest.raises(RestoreError, match="is gone"):
        found.parts()


def test_a_damaged_file_is_an_error_of_its_own(savepoint: str) -> None:
    found = table(savepoint, uid="count", state="visits")
    columns = found.schema()
    for path in Path(savepoint).glob("*visits*"):
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
    with pytest.raises(DamagedFileError, match="visits") as error:
        rows(found, columns)
    assert isinstance(error.value, HeadgateError)
    with SavepointReader.read(savepoint) as reader:
        assert reader.subtasks("count") == [0, 1, 2]
