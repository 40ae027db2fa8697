"""The canonical format: entries of keyed state are written to Parquet files and read back unchanged."""

from __future__ import annotations

import datetime as dt
import struct
from collections import OrderedDict, namedtuple
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.errors import DamagedFileError, RestoreError, SerializationError
from headgate.state.canonical import layout, writer
from headgate.state.canonical.reader import CanonicalFile
from headgate.state.canonical.writer import write_canonical
from headgate.state.formats.schema import StateMeta
from headgate.state.keyed.cells import NAMESPACED
from headgate.types.instant import Instant
from headgate.types.row import Row, RowKind
from headgate.types.typeinfo import TypeInformation, Types
from tests.sample_size import sample_size
from tests.unit.state.types_and_values import TYPES, values

GROUPS = range(128)
Point = namedtuple("Point", ["x", "y"])

TIMES = st.integers(0, 2**63 - 1)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals()
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.times()
    | st.builds(Instant, st.integers(-(2**40), 2**40), st.integers(0, 999_999_999))
)
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.none() | st.booleans() | st.integers() | st.text(), inner, max_size=3)
        | st.lists(inner, max_size=3).map(lambda items: Row(*items))
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(lambda items: Row(**items))
    ),
    max_leaves=5,
)
KEYS = (
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.tuples(st.integers(0, 9), st.text())
    | st.builds(lambda number: Row(a=number), st.integers())
)
SAME_KEYS = st.sampled_from([st.integers(-3, 3), st.text(), st.booleans() | st.integers(0, 1), KEYS])


@st.composite
def tables(draw: st.DrawFn) -> tuple[StateMeta, list[list[Any]]]:
    """A state with what it stores for some keys."""
    kind = draw(st.sampled_from(["value", "reducing", "aggregating", "list", "map", "timers"]))
    declared = Types.PICKLED_BYTE_ARRAY() if kind == "timers" else draw(TYPES | st.just(Types.PICKLED_BYTE_ARRAY()))
    keys_of = draw(SAME_KEYS)
    ttl = kind != "timers" and draw(st.booleans())
    item = draw(st.sampled_from([_item(declared), ANYTHING])) if kind != "timers" else st.none()
    meta = StateMeta(draw(st.text(min_size=1)), kind, _whole(kind, declared), ttl, draw(st.booleans()))
    cell_keys = draw(st.lists(keys_of, max_size=6))
    if draw(st.booleans()):
        namespaces = st.tuples(TIMES, TIMES) | KEYS
        cell_keys = [(NAMESPACED, key, draw(namespaces)) if draw(st.booleans()) else key for key in cell_keys]
    stored = _stored(kind, st.tuples(TIMES, item) if ttl else item)
    return meta, [[draw(st.sampled_from(GROUPS)), key, draw(stored)] for key in cell_keys]


def _item(declared: TypeInformation) -> st.SearchStrategy[Any]:
    return ANYTHING if declared == Types.PICKLED_BYTE_ARRAY() else values(declared)


def _whole(kind: str, declared: TypeInformation) -> TypeInformation:
    if kind == "list":
        return Types.LIST(declared)
    return Types.MAP(Types.STRING(), declared) if kind == "map" else declared


def _stored(kind: str, item: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    if kind == "timers":
        return st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.none(), max_size=4)
    if kind == "list":
        return st.lists(item, max_size=4)
    return st.dictionaries(st.text() | KEYS, item, max_size=4) if kind == "map" else item


def same(left: Any, right: Any) -> bool:
    """Whether two objects cannot be told apart: the same types, signs, bits, orders."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return struct.pack("<d", left) == struct.pack("<d", right)
    if isinstance(left, (dt.time, dt.datetime)):
        return bool(left == right) and left.fold == right.fold and left.tzinfo == right.tzinfo
    if isinstance(left, Decimal):
        return bool(left.as_tuple() == right.as_tuple())
    if isinstance(left, Row):
        alike = (left._fields, left.get_row_kind()) == (right._fields, right.get_row_kind())
        return alike and same(list(left), list(right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def write(metas: list[StateMeta], entries: list[list[Any]], folder: Path) -> list[CanonicalFile]:
    return [CanonicalFile(path, str(path), {}) for path in write_canonical(metas, entries, folder)]


def read(file: CanonicalFile, groups: range = GROUPS) -> list[list[Any]]:
    return list(file.entries(groups))


@settings(max_examples=sample_size(200))
@given(tables())
@example((StateMeta("n", "value", Types.LONG()), [[1, True, 2**70], [2, 1, True], [3, 2**70, 7]]))
@example((StateMeta("n", "value", Types.BIG_DEC()), [[1, 1, Decimal("1.50")], [1, 2, Decimal("NaN")]]))
@pytest.mark.slow
def test_entries_come_back_as_they_were(table: tuple[StateMeta, list[list[Any]]]) -> None:
    meta, entries = table
    expected = [entry for entry in entries if entry[2] is not None]
    with TemporaryDirectory() as folder:
        files = write([meta], entries, Path(folder))
        assert len(files) == bool(expected)
        for file in files:
            assert file.states == [meta]
            assert file.rows == len(expected)
            assert same(read(file), expected)


@pytest.mark.parametrize(
    ("declared", "value", "column"),
    [
        (Types.LONG(), 7, "int64"),
        (Types.INT(), 7, "int32"),
        (Types.DOUBLE(), float("nan"), "double"),
        (Types.FLOAT(), 0.1, "double"),
        (Types.STRING(), "a", "string"),
        (Types.BOOLEAN(), True, "bool"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"a", "binary"),
        (Types.BIG_INT(), 10**37, "decimal128(38, 0)"),
        (Types.BIG_DEC(), Decimal("1.000000000000000001"), "decimal128(38, 18)"),
        (Types.SQL_DATE(), dt.date(2024, 2, 29), "date32[day]"),
        (Types.SQL_TIME(), dt.time(23, 59, 59, 999_999), "int64"),
        (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 4), "timestamp[us]"),
        (Types.INSTANT(), Instant(-1, 999_999_000), "timestamp[us, tz=UTC]"),
        (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]), Row(a=1, b=None), "struct<a: int64, b: string>"),
        (Types.ROW([Types.LONG()]), Row(1), "struct<f0: int64>"),
        (Types.TUPLE([Types.LONG(), Types.DOUBLE()]), (1, 0.5), "struct<f0: int64, f1: double>"),
        (Types.BASIC_ARRAY(Types.INT()), [1, 2], "list<element: int32>"),
        (Types.LIST(Types.LIST(Types.LONG())), [[1], []], "list<element: list<element: int64>>"),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}, "map<string, int64 ('value')>"),
        (Types.PICKLED_BYTE_ARRAY(), 7, "int64"),
        (Types.PICKLED_BYTE_ARRAY(), [("a", 1)], "list<element: struct<f0: string, f1: int64>>"),
    ],
    ids=str,
)
def test_a_value_of_its_type_is_in_a_typed_column_and_nowhere_else(
    declared: TypeInformation, value: Any, column: str, tmp_path: Path
) -> None:
    (path,) = write_canonical([StateMeta("n", "value", declared)], [[1, "k", value]], tmp_path)
    table = pq.read_table(path)
    assert str(table.schema.field("value").type) == column
    assert table["value_pickle"].to_pylist() == [None]
    assert same(read(CanonicalFile(path, "n", {})), [[1, "k", value]])


@pytest.mark.parametrize(
    ("declared", "value", "shown"),
    [
        (Types.LONG(), "text", None),
        (Types.PICKLED_BYTE_ARRAY(), OrderedDict(a=1), None),
        (Types.ROW([Types.LONG(), Types.PICKLED_BYTE_ARRAY()]), Row(1, {2}), {"f0": 1, "f1": None}),
        (Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY()), {"a": {2}}, [("a", None)]),
        (Types.DOUBLE(), 3, 3.0),
        (Types.BIG_DEC(), Decimal("1.5"), Decimal("1.5")),
        (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.BIG_DEC()]), Row(1, Decimal(2)), {"a": 1, "b": Decimal(2)}),
        (Types.ROW_NAMED(["b", "a"], [Types.LONG(), Types.LONG()]), Row(a=1, b=2), {"b": 2, "a": 1}),
        (Types.ROW([Types.LONG()]), Row.of_kind(RowKind.DELETE, 1), {"f0": 1}),
        (Types.TUPLE([Types.LONG(), Types.LONG()]), Point(1, 2), {"f0": 1, "f1": 2}),
        (Types.LIST(Types.LONG()), [1, 2**64], [1, None]),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1, None: 2}, [("a", 1)]),
        (Types.STRING(), "\ud800", None),
        (Types.INSTANT(), Instant(0, 1), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)),
    ],
    ids=str,
)
def test_a_value_that_a_column_cannot_hold_is_shown_as_far_as_it_goes_and_kept_exactly(
    declared: TypeInformation, value: Any, shown: Any, tmp_path: Path
) -> None:
    (path,) = write_canonical([StateMeta("n", "value", declared)], [[1, "k", value]], tmp_path)
    assert pq.read_table(path)["value"].to_pylist() == [shown]
    assert same(read(CanonicalFile(path, "n", {})), [[1, "k", value]])


def test_time_to_live_is_in_a_column_of_its_own(tmp_path: Path) -> None:
    metas = [
        StateMeta("v", "value", Types.LONG(), ttl=True),
        StateMeta("l", "list", Types.LIST(Types.LONG()), ttl=True),
        StateMeta("m", "map", Types.MAP(Types.STRING(), Types.LONG()), ttl=True),
    ]
    entry = [1, "k", (5, 7), [(5, 7), (6, 8)], {"a": (5, 7)}]
    tables = [pq.read_table(path) for path in write_canonical(metas, [entry], tmp_path)]
    assert [table["last_access_ms"].to_pylist() for table in tables] == [[5], [[5, 6]], [[5]]]
    assert [table["value"].to_pylist() for table in tables] == [[7], [[7, 8]], [[("a", 7)]]]


def test_each_state_has_a_file_with_its_own_keys_and_namespaces(tmp_path: Path) -> None:
    metas = [StateMeta("sum/day", "value", Types.LONG(), namespaced=True), StateMeta("n", "value", Types.LONG())]
    entries = [[1, (NAMESPACED, "a", (0, 60)), 7, None], [1, "a", None, 2], [5, "b", None, 3]]
    sums, counts = write(metas, entries, tmp_path)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["n.parquet", "sum%2Fday.parquet"]
    assert read(sums) == [[1, (NAMESPACED, "a", (0, 60)), 7]]
    assert read(counts) == [[1, "a", 2], [5, "b", 3]]
    assert pq.read_table(tmp_path / "sum%2Fday.parquet")["namespace"].to_pylist() == [{"f0": 0, "f1": 60}]
    assert "namespace" not in pq.read_schema(tmp_path / "n.parquet").names


def test_values_come_in_bounded_pieces_and_what_changes_its_type_later_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ROWS_MAX", 4)
    monkeypatch.setattr(writer, "_WEIGHT_MAX", 100)
    entries: list[list[Any]] = [[number // 3, number, number] for number in range(10)]
    entries += [[9, "key", "value"], [9, (NAMESPACED, 1, 2), "x" * 99], [9, 11, "y" * 99]]
    (file,) = write([StateMeta("n", "value", Types.PICKLED_BYTE_ARRAY())], entries, tmp_path)
    assert pq.ParquetFile(tmp_path / "n.parquet").num_row_groups == 4
    assert read(file) == entries


@given(first=st.integers(0, 20), last=st.integers(0, 20))
@pytest.mark.slow
def test_a_subtask_reads_its_own_key_groups(first: int, last: int) -> None:
    entries = [[group, (group, number), number] for group in range(0, 20, 2) for number in range(3)]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(writer, "ROWS_MAX", 4)
        (file,) = write([StateMeta("n", "value", Types.LONG())], entries, Path(folder))
        assert read(file, range(first, last)) == [entry for entry in entries if entry[0] in range(first, last)]


def test_names_of_states_that_are_long_or_odd_stay_apart(tmp_path: Path) -> None:
    names = ["x" * 300, "x" * 301, "..", "a b", "a%20b", "ä/ö"]
    metas = [StateMeta(name, "value", Types.LONG()) for name in names]
    files = write(metas, [[1, "k", *range(len(names))]], tmp_path)
    assert [(file.states[0].name, read(file)[0][2]) for file in files] == list(zip(names, range(6), strict=True))


# --- what is wrong


def file_of(tmp_path: Path) -> Path:
    entries = [[number % 8, f"key {number}", number] for number in range(500)]
    (path,) = write_canonical([StateMeta("n", "value", Types.LONG())], entries, tmp_path)
    return path


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.99])
def test_a_changed_byte_is_noticed(share: float, tmp_path: Path) -> None:
    path = file_of(tmp_path)
    data = bytearray(path.read_bytes())
    sound = read(CanonicalFile(bytes(data), "n", {}))
    data[int(len(data) * share)] ^= 0xFF
    try:
        found = read(CanonicalFile(bytes(data), "the file", {}))
    except (DamagedFileError, RestoreError) as error:
        assert "the file" in str(error)  # noqa: PT017  # either is right, and so is a byte that nobody reads
    else:
        assert found == sound


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_a_file_that_was_cut_short_is_damaged(share: float, tmp_path: Path) -> None:
    data = file_of(tmp_path).read_bytes()
    with pytest.raises(DamagedFileError, match="the file is damaged or incomplete"):
        CanonicalFile(data[: int(len(data) * share)], "the file", {})


def test_a_parquet_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    table = pq.read_table(file_of(tmp_path)).replace_schema_metadata(None)
    pq.write_table(table, tmp_path / "other.parquet")
    with pytest.raises(DamagedFileError, match="not a file of a canonical savepoint"):
        CanonicalFile(tmp_path / "other.parquet", "other", {})


def test_a_later_version_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "VERSION", 2)
    path = file_of(tmp_path)
    monkeypatch.undo()
    with pytest.raises(RestoreError, match="version 2 of the canonical format, and this headgate reads version 1"):
        CanonicalFile(path, "n", {})


def test_what_cannot_be_pickled_names_its_state(tmp_path: Path) -> None:
    with pytest.raises(SerializationError, match="state 'n': a function cannot be pickled"):
        write_canonical([StateMeta("n", "value", Types.LONG())], [[1, "k", lambda: 1]], tmp_path)
