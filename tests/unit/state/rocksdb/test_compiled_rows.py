"""Cells and rows of a single column: the compiled loops do what those in Python do."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from operator import length_hint
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import SerializationError
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.formats.codecs import codec_for
from headgate.state.keyed.cells import DEAD, SAVED, Cell
from headgate.state.rocksdb import cache, cell_rows
from headgate.state.rocksdb.single_column import SingleColumn, single_column
from headgate.types.typed_key import typed
from headgate.types.typeinfo import TypeInformation, Types
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left
from tests.typed_batches.values import EDGES, OTHERS
from tests.unit.state.backends import get, put, saved, value_state
from tests.unit.state.rocksdb.stores import CHANGELOG, INCREMENTAL, TINY, at, fill, restored, rocksdb, values

TAG = b"\3\0"
TYPES = [
    Types.LONG(),
    Types.DOUBLE(),
    Types.STRING(),
    Types.BOOLEAN(),
    Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Types.PICKLED_BYTE_ARRAY(),
    Types.ROW([Types.LONG()]),
]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63 - 1, -(2**63), 2**63, -(2**63) - 1]),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
    st.binary(),
    st.lists(st.integers(), max_size=3),
)
KEYS = st.one_of(st.integers(), st.text(), st.binary(), st.tuples(st.integers()), st.booleans().map(typed))


def both(type_info: TypeInformation) -> list[SingleColumn]:
    return [single_column(codec_for(type_info), TAG, native) for native in (None, compiled_module())]


def other(key: Any, row: bytes, generation: int) -> Cell:
    return ["other", key, row, generation]


def test_rows_of_values_at_every_edge_are_written_and_read_alike() -> None:
    edges = [each for each in (*EDGES, *OTHERS) if type(each) is not int or abs(each) < 10**500]  # which have a repr
    for type_info in TYPES:
        check_alike(type_info, {f"{number}": value for number, value in enumerate(edges)})


@given(st.sampled_from(TYPES), st.dictionaries(KEYS, VALUES))
def test_rows_are_written_and_read_alike(type_info: TypeInformation, values: dict[Any, Any]) -> None:
    check_alike(type_info, values)


def check_alike(type_info: TypeInformation, values: dict[Any, Any]) -> None:
    seen = []
    for loops in both(type_info):
        cells: list[Cell] = [[7, 5, None, key, value] for key, value in values.items()]
        rows: dict[Any, bytes | None] = {"before": b"1"}
        count, size_bytes, others = loops.write(iter(cells), rows)
        assert all(any(each is cell for cell in cells) for each in others)
        found = [rows.get(key) for key in values]
        seen.append((repr(cells), rows, count, size_bytes, repr(loops.cells(list(values), found, 9, other))))
    assert seen[0] == seen[1]


@given(st.sampled_from(TYPES), st.lists(st.tuples(KEYS, st.one_of(st.none(), st.binary(max_size=12)))), st.booleans())
def test_damaged_rows_and_rows_of_other_layouts_are_read_alike(
    type_info: TypeInformation, stored: list[tuple[Any, bytes | None]], is_tagged: bool
) -> None:
    keys = [key for key, _ in stored]
    rows = [None if row is None else (TAG if is_tagged else b"") + row for _, row in stored]
    seen = []
    for loops in both(type_info):
        try:
            seen.append(repr(loops.cells(keys, rows, 9, other)))
        except Exception as error:  # noqa: BLE001  # whatever damaged bytes make of the decoder
            seen.append(f"{type(error).__name__}: {error}")
    assert seen[0] == seen[1]


class PickledOnce:
    """A value that fits into its row, and not into the changelog: as one nested almost too deeply to be pickled."""

    def __init__(self) -> None:
        self.is_pickled = False

    def __reduce__(self) -> Any:
        if self.is_pickled:
            raise RecursionError("nested too deeply")
        self.is_pickled = True
        return int, (0,)


@pytest.mark.parametrize("native", ["off", "on"])
def test_a_value_that_does_not_fit_into_the_changelog_fails_alone(native: str) -> None:
    compiled_module()
    backend = rocksdb(CHANGELOG | {"headgate.native": native})
    saved(backend)
    fill(backend, ["a"], 1)
    fill(backend, ["deep"], PickledOnce())
    fill(backend, ["b"], 2)
    with pytest.raises(SerializationError, match="'v' of key 'deep'"):
        backend._store.cells.flush([backend.cells[key] for key in ("a", "deep", "b")])
    fill(backend, ["deep"], 3)
    backend._clear_cache()
    assert values(restored(saved(backend))) == {"a": 1, "deep": 3, "b": 2}


@pytest.mark.parametrize("native", ["off", "on"])
@pytest.mark.parametrize("settings", [{}, CHANGELOG])
def test_rows_before_one_that_cannot_be_written_are_kept(native: str, settings: dict[str, Any]) -> None:
    compiled_module()
    backend = rocksdb(settings | {"headgate.native": native})
    saved(backend)
    fill(backend, ["a", "b"], 1)
    fill(backend, ["bad"], lambda: None)
    fill(backend, ["c"], 3)
    cells = [backend.cells[key] for key in ("a", "b", "bad", "c")]
    with pytest.raises(SerializationError, match="'v' of key 'bad'"):
        backend._store.cells.flush(cells)
    assert [cell[SAVED] != 0 for cell in cells] == [True, True, False, False]
    fill(backend, ["bad"], 2)
    backend._clear_cache()
    expected = {"a": 1, "b": 1, "bad": 2, "c": 3}
    assert values(backend) == expected
    assert values(restored(saved(backend))) == expected


@given(st.lists(KEYS), st.sets(KEYS), st.sets(KEYS))
def test_keys_are_looked_up_alike(keys: list[Any], some: set[Any], more: set[Any]) -> None:
    native = compiled_module()
    cells: dict[Any, Cell] = {key: [1, 0, None, key, None] for key in some}
    assert native.missing(keys, cells) == cache._missing(keys, cells)
    newest: dict[Any, bytes | None] = dict.fromkeys(some, b"new")
    older: dict[Any, bytes | None] = dict.fromkeys(more)
    assert native.buffered(keys, newest, older) == cell_rows._buffered(keys, newest, older)


@given(st.sets(KEYS), st.randoms(use_true_random=False))
def test_cells_are_evicted_alike(keys: set[Any], chance: random.Random) -> None:
    cells: dict[Any, Cell] = {key: [1, 0, None, key, None] for key in keys}
    evicted = [key for key in keys if chance.random() < 0.5]
    seen = []
    for evict in (cache._evict, compiled_module().evict):
        own = copy.deepcopy(cells)
        gone = [own[key] for key in evicted]
        evict(own, gone, DEAD)
        seen.append((own, gone))
    assert seen[0] == seen[1]


class Hostile:
    """A key or value that runs code while it is hashed or pickled."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def __hash__(self) -> int:
        self.act()
        return 1

    def __reduce__(self) -> Any:
        self.act()
        return int, (1,)


def test_lists_may_shrink_while_they_are_read() -> None:
    """The result is of no use then; the process survives."""
    native = compiled_module()
    keys: list[Any] = []
    keys[:] = [Hostile(keys.clear), 1, 2]
    assert native.missing(keys, {}) != []
    keys[:] = [Hostile(keys.clear), 1, 2]
    native.buffered(keys, {1: b""}, {})
    rows: list[Any] = [TAG + b"\x80", TAG]
    loops = native.SingleColumn(TAG, b"", str, lambda _: rows.clear())
    assert len(loops.cells([1, 2], rows, 1, other)) == 1
    cell: Cell = []
    cell[:] = [2, 1, None, 1, Hostile(cell.clear)]
    loops = single_column(codec_for(Types.PICKLED_BYTE_ARRAY()), TAG, native)
    with pytest.raises(RuntimeError, match="changed"):
        loops.write(iter([cell]), {})
    key = Hostile(lambda: None)
    cells = {key: [1, 0, None, key]}
    evicted = [cells[key]]
    key.act = evicted[0].clear
    native.evict(cells, evicted, DEAD)
    assert cells == {}


def test_wrong_arguments_are_refused() -> None:
    native = compiled_module()
    loops = native.SingleColumn(TAG, b"i", str, int)
    wrong: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (loops.cells, ([1], [], 1, other)),
        (loops.cells, ((1,), [None], 1, other)),
        (loops.write, ([], {})),
        (loops.write, (iter([]), [])),
        (loops.write, (iter([[1, 2, 3, 4]]), {})),
        (loops.write, (iter([[1, 0, None, 1, "no bytes"]]), {})),
        (native.missing, ((1,), {})),
        (native.missing, ([[]], {})),
        (native.buffered, ([1], {}, None)),
        (native.buffered, ([[]], {}, {})),
        (native.evict, ({}, (), DEAD)),
        (native.evict, ({}, [1], DEAD)),
        (native.SingleColumn, (b"1", b"", str, int)),
        (native.SingleColumn, (TAG, b"ii", str, int)),
    ]
    for function, arguments in wrong:
        with pytest.raises((TypeError, ValueError)):
            function(*arguments)
    with pytest.raises(KeyError):
        native.evict({}, [[1, 0, None, "absent"]], DEAD)
    for function in (loops.cells, loops.write, native.missing, native.buffered, native.evict):
        with pytest.raises(TypeError, match="arguments"):
            function()


def test_nothing_is_left_behind() -> None:
    native = compiled_module()
    shared, key = ["value"], "key"
    loops = [native.SingleColumn(TAG, codec.scalar, codec.encode, codec.decode) for codec in map(codec_for, TYPES)]

    def work() -> None:
        for each in loops:
            cells: list[Cell] = [[2, 1, None, key, shared], [2, 1, None, 5, 1.5], [2, 1, None, (1,), 2]]
            rows: dict[Any, bytes | None] = {}
            each.write(iter(cells), rows)
            each.cells([*rows, "none"], [*rows.values(), None], 3, other)
            with pytest.raises(SerializationError):
                each.write(iter([[2, 1, None, key, lambda: None]]), rows)
            by_key = {cell[3]: cell for cell in cells}
            native.buffered([key, 7], rows, {})
            native.missing([key, 7, 7], by_key)
            native.evict(by_key, cells, DEAD)
            native.row_names([key, 5, (1,), "ä"], 128, 0, 128)

    check_nothing_is_left(work, 50, [shared, key, *loops])


def test_loops_are_compiled_where_the_job_is() -> None:
    native = compiled_module()
    files = saved_files()
    for wish, module, kind in (("off", None, SingleColumn), ("on", native, native.SingleColumn)):
        for backend in (rocksdb(TINY | {"headgate.native": wish}), restored(files, settings={"headgate.native": wish})):
            put(backend, backend.state(ValueStateDescriptor("v", Types.LONG())), "a", 1)
            assert type(backend._store.layouts.single) is kind
            assert backend._store.groups.native is module


def saved_files() -> Any:
    """Return a checkpoint whose files are those of a database."""
    backend = rocksdb(INCREMENTAL)
    put(backend, backend.state(ValueStateDescriptor("v", Types.LONG())), "a", 1)
    return saved(backend)


def test_large_rows_do_not_fill_more_than_the_buffer() -> None:
    backend = rocksdb(TINY | {"state.backend.rocksdb.writebuffer.size": "1 mb"})
    for start in range(0, 400, 20):
        fill(backend, range(start, start + 20), "x" * 10_000)
        backend.leave()
    rows = backend._store.rows
    assert sum(len(row or b"") for row in (*rows.unwritten.values(), *rows._written.values())) < 2 * 2**20
    assert backend._store.cells.cell_bytes > 10_000
    assert set(values(backend).values()) == {"x" * 10_000}


def test_a_state_that_was_cleared_does_not_come_back_from_the_database() -> None:
    backend = rocksdb(TINY)
    state = value_state(backend)
    put(backend, state, "a", 1)
    backend._clear_cache()
    while not backend._store.rows.write():
        pass
    backend._store.rows._written.clear()
    with at(backend, "a"):
        state.clear()
    backend._clear_cache()
    assert get(backend, state, "a") is None


def test_the_iterator_tells_which_cell_failed() -> None:
    for loops in both(Types.LONG()):
        cells: list[Cell] = [[2, 1, None, key, value] for key, value in enumerate([1, lambda: None, 3])]
        position = iter(cells)
        with pytest.raises(SerializationError):
            loops.write(position, {})
        assert len(cells) - length_hint(position) - 1 == 1
