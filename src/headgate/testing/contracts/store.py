"""Checks of what every checkpoint store must do.

>>> from headgate.checkpoint.store import MemoryStore
>>> for check in STORE_CHECKS:
...     check(MemoryStore())
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.errors import DamagedFileError, StorageError
from headgate.state.files import FileHandle


def check_a_written_file_is_read_back_and_its_handle_tells_length_and_checksum(store: CheckpointStore) -> None:
    handle = store.write("chk-1/a", [b"ab", memoryview(b"cd"), bytearray(b"e")])
    assert handle == FileHandle("chk-1/a", 5, zlib.crc32(b"abcde"))
    assert store.read("chk-1/a") == b"abcde"
    assert read_state(store, handle) == b"abcde"


def check_an_empty_file_is_a_file(store: CheckpointStore) -> None:
    handle = store.write("chk-1/empty", [])
    assert read_state(store, handle) == b""
    assert store.list_files("chk-1") == ["chk-1/empty"]


def check_a_file_is_never_overwritten(store: CheckpointStore) -> None:
    store.write("chk-1/a", [b"first"])
    error = _error(lambda: store.write("chk-1/a", [b"second"]))
    assert store.locate("chk-1/a") in str(error)
    assert store.read("chk-1/a") == b"first"


def check_a_missing_file_reads_as_none(store: CheckpointStore) -> None:
    assert store.read("chk-9/_metadata") is None


def check_state_that_is_not_what_was_written_is_refused_by_name(store: CheckpointStore) -> None:
    handle = store.write("chk-1/a", [b"state"])
    for broken in _broken(handle):
        error = _error(partial(read_state, store, broken))
        assert isinstance(error, DamagedFileError)
        assert store.locate(broken.path) in str(error)


def check_a_local_file_is_uploaded_and_downloaded_whole(store: CheckpointStore) -> None:
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        for path, data in {"shared/large": bytes(range(256)) * 10_000, "shared/empty": b""}.items():
            source.write_bytes(data)
            handle = store.upload(path, source)
            assert handle == FileHandle(path, len(data), zlib.crc32(data))
            store.download(handle, target)
            assert target.read_bytes() == data
            target.unlink()
        error = _error(lambda: store.upload("shared/large", source))
        assert store.locate("shared/large") in str(error)


def check_a_local_file_that_cannot_be_read_is_named(store: CheckpointStore) -> None:
    with TemporaryDirectory() as folder:
        error = _error(lambda: store.upload("shared/a", Path(folder, "nowhere")))
        assert "nowhere" in str(error)


def check_a_download_of_what_is_not_what_was_written_is_refused_by_name(store: CheckpointStore) -> None:
    handle = store.write("shared/a", [b"state"])
    with TemporaryDirectory() as folder:
        for number, broken in enumerate(_broken(handle)):
            error = _error(partial(store.download, broken, Path(folder, str(number))))
            assert isinstance(error, DamagedFileError)
            assert store.locate(broken.path) in str(error)


def _broken(handle: FileHandle) -> list[FileHandle]:
    return [
        FileHandle(handle.path, handle.size_bytes - 1, handle.crc32),
        FileHandle(handle.path, handle.size_bytes, handle.crc32 ^ 1),
        FileHandle("chk-1/gone", handle.size_bytes, handle.crc32),
    ]


def check_listing_goes_below_folders_and_names_files_only(store: CheckpointStore) -> None:
    for path in ("chk-2/b", "chk-1/a", "chk-10/c", "_result"):
        store.write(path, [b"x"])
    assert store.list_files("") == ["_result", "chk-1/a", "chk-10/c", "chk-2/b"]
    assert store.list_files("chk-1") == ["chk-1/a"]
    assert store.list_files("chk-3") == []


def check_a_listing_with_sizes_names_the_same_files(store: CheckpointStore) -> None:
    store.write("chk-1/a", [b"xy", b"z"])
    store.write("shared/empty", [])
    assert store.list_sizes("") == {"chk-1/a": 3, "shared/empty": 0}
    assert store.list_sizes("chk-1") == {"chk-1/a": 3}
    assert store.list_sizes("chk-3") == {}


def check_deleting_is_thorough_and_may_be_repeated(store: CheckpointStore) -> None:
    for path in ("chk-1/a", "chk-1/b", "chk-10/c"):
        store.write(path, [b"x"])
    for _ in range(2):
        store.delete(["chk-1/a", "chk-1/never"])
        assert store.list_files("") == ["chk-1/b", "chk-10/c"]
    for _ in range(2):
        store.delete_folder("chk-1")
        assert store.list_files("") == ["chk-10/c"]


def check_names_of_operators_may_hold_any_character(store: CheckpointStore) -> None:
    path = "chk-1/a1-%E6%B5%81%20%2F%2D-0-keyed"
    store.write(path, [b"x"])
    assert store.list_files("") == [path]
    assert store.read(path) == b"x"


def _error(call: Callable[[], object]) -> StorageError:
    try:
        call()
    except StorageError as error:
        return error
    raise AssertionError("a StorageError was expected")


STORE_CHECKS: Final[list[Callable[[CheckpointStore], None]]] = [
    check_a_written_file_is_read_back_and_its_handle_tells_length_and_checksum,
    check_an_empty_file_is_a_file,
    check_a_file_is_never_overwritten,
    check_a_missing_file_reads_as_none,
    check_state_that_is_not_what_was_written_is_refused_by_name,
    check_a_local_file_is_uploaded_and_downloaded_whole,
    check_a_local_file_that_cannot_be_read_is_named,
    check_a_download_of_what_is_not_what_was_written_is_refused_by_name,
    check_listing_goes_below_folders_and_names_files_only,
    check_a_listing_with_sizes_names_the_same_files,
    check_deleting_is_thorough_and_may_be_repeated,
    check_names_of_operators_may_hold_any_character,
]
"""All checks. Each needs a new, empty store."""
