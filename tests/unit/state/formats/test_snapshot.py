"""The snapshot file: damage is found, whatever byte it hits; a class that is gone is named."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType

import pytest

from headgate.errors import DamagedFileError, RestoreError, SerializationError
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import MAGIC, VERSION, SnapshotWriter, decode
from headgate.types.typeinfo import Types
from tests.unit.state.backends import backend_of, contents, put, restored, saved, value_state

META = StateMeta("v", "value", Types.PICKLED_BYTE_ARRAY())


def small_file(*, delta: bool = False) -> bytes:
    writer = SnapshotWriter([META], delta=delta)
    writer.add(3, [[3, "a", [1, 2]], [3, "b", None]])
    writer.add(7, [[7, "c", "x"]])
    if delta:
        writer.remove(3, "gone")
    return b"".join(writer.finish())


def read_wholly(data: bytes) -> list[object]:
    return list(decode(data, "chk-1/state", {}).entries(range(8)))


def test_a_file_gives_back_states_and_the_entries_of_each_group() -> None:
    file = decode(small_file(), "here", {})
    assert (file.states, file.is_delta) == ([META], False)
    assert list(file.entries(range(3, 4))) == [[3, "a", [1, 2]], [3, "b", None]]
    assert list(file.entries(range(4, 8))) == [[7, "c", "x"]]


def test_a_delta_gives_removals_first_and_only_what_the_reader_owns() -> None:
    file = decode(small_file(delta=True), "here", {})
    assert file.is_delta
    assert list(file.entries(range(3, 4))) == [[3, "gone"], [3, "a", [1, 2]], [3, "b", None]]
    assert list(file.entries(range(7, 8))) == [[7, "c", "x"]]


def by_columns(*, delta: bool = False) -> bytes:
    writer = SnapshotWriter([META, META], delta=delta)
    writer.add_columns(3, ["a", "b"], [[1, None], [None, 2]])
    writer.add_columns([7, 3], ["c", "d"], [["x", "y"], [None, None]])
    return b"".join(writer.finish())


@pytest.mark.parametrize("delta", [False, True])
def test_entries_by_columns_are_those_of_their_groups(delta: bool) -> None:
    file = decode(by_columns(delta=delta), "here", {})
    assert list(file.entries(range(3, 4))) == [[3, "a", 1, None], [3, "b", None, 2], [3, "d", "y", None]]
    assert list(file.entries(range(4, 8))) == [[7, "c", "x", None]]


def test_state_that_cannot_be_pickled_is_named_also_by_columns() -> None:
    with pytest.raises(SerializationError, match="state 'v' of key 'b' holds a function"):
        SnapshotWriter([META], delta=False).add_columns([1, 2], ["a", "b"], [[1, lambda: 1]])


@pytest.mark.parametrize("form", ["entries", "columns"])
def test_every_flipped_byte_is_found(form: str) -> None:
    data = small_file() if form == "entries" else by_columns()
    for position in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            with pytest.raises(DamagedFileError, match="chk-1/state"):
                read_wholly(bytes(damaged))


def test_every_truncation_is_found() -> None:
    data = small_file()
    for length in range(len(data)):
        with pytest.raises(DamagedFileError, match="chk-1/state"):
            read_wholly(data[:length])


def test_bytes_that_were_added_are_found() -> None:
    with pytest.raises(DamagedFileError):
        read_wholly(small_file() + b"x")


def test_a_file_of_a_later_version_is_no_damage_but_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later_release:
        later_release.setattr("headgate.state.formats.snapshot.VERSION", VERSION + 1)
        written = small_file()
    with pytest.raises(RestoreError, match=f"format version {VERSION + 1}; this headgate reads version {VERSION}"):
        decode(written, "here", {})


def test_no_state_at_all_is_a_file_too() -> None:
    backend = backend_of()
    assert contents(restored(saved(backend))) == {}


def test_a_class_that_is_not_there_any_more_is_named() -> None:
    module = ModuleType("a_module_of_last_week")
    sys.modules[module.__name__] = module
    exec("class Visit:\n    pass", module.__dict__)
    backend = backend_of()
    put(backend, value_state(backend), "k", module.Visit())
    data = saved(backend)
    del sys.modules[module.__name__]
    with pytest.raises(RestoreError, match=r"a_module_of_last_week.*define it under its old name again"):
        restored(data)


def test_the_entries_are_plain_pickles() -> None:
    file = small_file()
    start = len(MAGIC) + 1
    assert pickle.loads(file[start:]) == [[3, "a", [1, 2]], [3, "b", None]]  # noqa: S301  # made above
