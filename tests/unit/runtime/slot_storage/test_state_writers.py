"""Where state goes: into files, into the acknowledgement, and what is too large for that."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from headgate.checkpoint.paths import Writer
from headgate.checkpoint.store import MemoryStore
from headgate.elements import Barrier
from headgate.errors import StorageError
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.slot_storage.state_writers import InlineWriters, StoreWriters
from headgate.state.files import FileHandle, InlineHandle

OWN = Writer(Attempt(3), "op", 1)
FOUR = Barrier(CheckpointId(4), 0)


def test_what_later_checkpoints_may_use_lies_apart_and_small_state_needs_no_file(tmp_path: Path) -> None:
    store = MemoryStore()
    writer = StoreWriters(store, inline_bytes=1000).of(OWN, FOUR)
    local = tmp_path / "000012.sst"
    local.write_bytes(b"sorted")
    log = b"x" * 1000
    assert writer.write("log", [log], shared=True) == FileHandle("shared/4-a3-op-1-log", 1000, zlib.crc32(log))
    assert writer.write("log", [log[1:]], shared=True) == InlineHandle(log[1:])
    assert isinstance(writer.upload("000012.sst", local, shared=True), FileHandle)
    assert writer.upload("base", local, shared=False) == InlineHandle(b"sorted")
    assert store.list_files("") == ["shared/4-a3-op-1-000012.sst", "shared/4-a3-op-1-log"]


def test_what_is_written_ahead_of_a_checkpoint_is_numbered_for_each_operator_of_a_subtask() -> None:
    store = MemoryStore()
    writers = StoreWriters(store, inline_bytes=1000)
    for own in (OWN, OWN, Writer(Attempt(3), "op", 2)):
        writers.ahead(own).write("delta", [b"x" * 1000], shared=False)
    assert store.list_files("") == [
        "shared/ahead-1-a3-op-1-delta",
        "shared/ahead-1-a3-op-2-delta",
        "shared/ahead-2-a3-op-1-delta",
    ]
    assert writers.ahead(OWN).write("delta", [b"x"], shared=False) == InlineHandle(b"x")


def test_in_the_drivers_memory_everything_travels_inline(tmp_path: Path) -> None:
    writer = InlineWriters(state_bytes_max=100).of(OWN, FOUR)
    local = tmp_path / "000012.sst"
    local.write_bytes(b"sorted")
    assert writer.write("keyed", [b"a", b"b"], shared=True) == InlineHandle(b"ab")
    assert writer.upload("000012.sst", local, shared=True) == InlineHandle(b"sorted")
    assert isinstance(writer.write_list("splits", [b"x"]), InlineHandle)


def test_a_state_too_large_for_the_drivers_memory_is_refused_with_what_to_set(tmp_path: Path) -> None:
    writer = InlineWriters(state_bytes_max=100).ahead(OWN)
    local = tmp_path / "000012.sst"
    local.write_bytes(b"x" * 101)
    expected = "keyed state has 101 bytes in subtask 1.*execution.checkpointing.dir.*headgate.checkpoint.max-state-size"
    with pytest.raises(StorageError, match=expected):
        writer.write("keyed", [b"x" * 100, b"y"], shared=False)
    with pytest.raises(StorageError, match=expected):
        writer.upload("000012.sst", local, shared=True)
    with pytest.raises(StorageError, match="operator state 'splits' has"):
        writer.write_list("splits", [b"x" * 101])
    with pytest.raises(StorageError, match="nowhere"):
        writer.upload("x", tmp_path / "nowhere", shared=True)
