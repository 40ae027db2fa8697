"""Manifests: what is written can be read, and what is not whole cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint import paths
from headgate.checkpoint.handles import InFlightState, OperatorState, SubtaskState
from headgate.checkpoint.manifest import OperatorShape, decode, encode, gather_operators
from headgate.checkpoint.seal import is_torn, seal, unseal
from headgate.elements import SavepointFormat
from headgate.errors import DamagedFileError, RestoreError
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.state.files import InlineHandle, KeyedState, StateFile
from headgate.state.operator.list_elements import ListMode
from tests.unit.checkpoint.manifests import file, keyed, listed, manifest, operator

SAMPLE = manifest(
    7,
    operator("count", keyed("count", 0, 63, file("chk-7/a1-count-0-keyed")), keyed("count", 64, 127)),
    operator("source", listed("source", "splits"), None),
    operator("rules", listed("rules", "rules", mode=ListMode.BROADCAST), listed("rules", "seen", mode=ListMode.UNION)),
)
DATA = encode(SAMPLE)


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert decode(DATA, "here") == SAMPLE


def test_inline_state_of_any_bytes_survives() -> None:
    written = manifest(1, operator("op", keyed("op", 0, 127, InlineHandle(bytes(range(256))))))
    assert decode(encode(written), "here") == written


def test_keyed_state_of_several_files_keeps_their_names_and_their_order() -> None:
    base = (StateFile("000012.sst", file("shared/1-a1-op-0-000012.sst")), StateFile("CURRENT", InlineHandle(b"x")))
    log = tuple(StateFile(name, file(f"shared/2-a1-op-0-{name}")) for name in ("log-2", "log-1"))
    state = OperatorState(uid="op", keyed=KeyedState(key_groups=(3, 9), kind="rocksdb", base=base, log=log))
    written = manifest(1, operator("op", state))
    assert decode(encode(written), "here") == written
    assert written.files() == {
        "shared/1-a1-op-0-000012.sst",
        "shared/2-a1-op-0-log-2",
        "shared/2-a1-op-0-log-1",
    }


def test_a_manifest_names_the_files_it_needs() -> None:
    assert SAMPLE.files() == {"chk-7/a1-count-0-keyed"}


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_any_changed_byte_is_found_out_and_not_taken_for_a_write_cut_short(position: int, flip: int) -> None:
    changed = bytearray(DATA)
    changed[position] ^= flip
    assert not is_torn(bytes(changed))
    with pytest.raises(DamagedFileError, match="checkpoints/chk-7/_metadata"):
        decode(bytes(changed), "checkpoints/chk-7/_metadata")


@given(st.integers(0, len(DATA) - 1))
def test_any_beginning_of_a_manifest_is_torn_and_never_read(length: int) -> None:
    assert is_torn(DATA[:length])
    with pytest.raises(DamagedFileError):
        decode(DATA[:length], "here")


@given(st.binary(min_size=1, max_size=80))
def test_anything_appended_is_found_out(more: bytes) -> None:
    with pytest.raises(DamagedFileError):
        decode(DATA + more, "here")


OUTSIDE = (
    "../ef02/chk-7/a1-count-0-keyed",
    "chk-7/../../ef02/chk-7/a1-count-0-keyed",
    "chk-7/..",
    "/etc/passwd",
    "chk-7//a1-count-0-keyed",
    "chk-7/a1-count-0-keyed\\..\\..\\x",
    "chk-7/a1-count-0-\0",
    "_result",
    "chk-7/_metadata",
    "_attempt/1",
    "",
)


@pytest.mark.parametrize("path", [*OUTSIDE, "a1-count-0-keyed"])
def test_a_checkpoint_names_only_state_in_the_folder_of_its_job(path: str) -> None:
    written = encode(manifest(7, operator("count", keyed("count", 0, 127, file(path)))))
    with pytest.raises(DamagedFileError, match=r"there names '.*', which is not a state file .* of its own job"):
        decode(written, "there")


@pytest.mark.parametrize("path", [*OUTSIDE, "chk-7/a1-count-0-keyed", "notes.txt"])
def test_a_savepoint_names_only_state_in_its_own_folder(path: str) -> None:
    state = manifest(7, operator("count", keyed("count", 0, 127, file(path))))
    written = encode(replace(state, savepoint=SavepointFormat.NATIVE))
    with pytest.raises(DamagedFileError, match=r"there names '.*', which is not a state file .* of its own savepoint"):
        decode(written, "there")


NAMES = st.text(max_size=100)


@given(st.integers(1), st.integers(1), NAMES, st.integers(0), NAMES, st.integers(0))
def test_every_name_that_state_is_given_may_be_named(  # noqa: PLR0913  # what names are made of
    checkpoint: int, attempt: int, uid: str, subtask: int, name: str, number: int
) -> None:
    writer, id_ = paths.Writer(Attempt(attempt), uid, subtask), CheckpointId(checkpoint)
    for path in (
        paths.keyed_state(id_, writer, name),
        paths.list_state(id_, writer, name),
        paths.in_flight(id_, writer, name),
        paths.shared_state(id_, writer, name),
        paths.ahead_state(number, writer, name),
    ):
        assert paths.is_state_file(path, of_savepoint=False)
    for path in (paths.savepoint_state(writer, name), paths.savepoint_list(writer, name)):
        assert paths.is_state_file(path, of_savepoint=True)


@pytest.mark.parametrize("tail", [b"\n", b"x", DATA[-80:], DATA])
def test_a_manifest_that_something_was_added_to_is_damaged_and_not_torn(tail: bytes) -> None:
    assert not is_torn(DATA + tail)
    with pytest.raises(DamagedFileError, match="where"):
        decode(DATA + tail, "where")


def test_a_whole_manifest_is_not_torn() -> None:
    assert not is_torn(DATA)


def test_a_later_format_version_is_refused_in_words() -> None:
    with pytest.raises(RestoreError, match="version 6, and this headgate reads versions 2 to 5"):
        decode(seal({"format": "headgate-checkpoint", "version": 6}), "here")


def test_another_sealed_document_is_no_manifest() -> None:
    with pytest.raises(DamagedFileError, match="not a checkpoint manifest"):
        decode(seal({"status": "finished"}), "here")


def test_acknowledged_states_are_gathered_by_operator_and_subtask() -> None:
    shapes = [
        OperatorShape(uid="source", name="Source", vertex=0, parallelism=1, max_parallelism=128),
        OperatorShape(uid="count", name="Count", vertex=1, parallelism=2, max_parallelism=128),
        OperatorShape(uid="print", name="Print", vertex=1, parallelism=2, max_parallelism=128),
    ]
    first, second = keyed("count", 0, 63), keyed("count", 64, 127)
    states = {
        SubtaskId(1, 1): SubtaskState(operators=(second,)),
        SubtaskId(1, 0): SubtaskState(operators=(first,)),
        SubtaskId(0, 0): SubtaskState(operators=(listed("source", "splits"),)),
    }
    gathered = {found.uid: found.subtasks for found in gather_operators(shapes, states)}
    assert gathered == {"source": {0: listed("source", "splits")}, "count": {0: first, 1: second}, "print": {}}


def test_only_what_earlier_releases_cannot_read_has_the_new_version() -> None:
    part = InFlightState(
        uid="count", input_index=0, source_uid="source", source=0, target=0, sequence=0, handle=InlineHandle(b"")
    )
    for arrow, typed, version in ((False, False, 3), (True, False, 4), (False, True, 5), (True, True, 5)):
        written = encode(replace(SAMPLE, in_flight=(replace(part, arrow=arrow, typed=typed),)))
        assert unseal(written, "here")["version"] == version
        assert decode(written, "here").in_flight[0] == replace(part, arrow=arrow, typed=typed)
