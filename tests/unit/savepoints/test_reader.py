"""The savepoint reader: what it says of a snapshot, and what it says when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.errors import DamagedFileError, ProgramError, RestoreError
from headgate.savepoints import SavepointReader, SavepointWriter
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.types.typeinfo import Types


@pytest.fixture
def savepoint(tmp_path: Path) -> str:
    return (
        SavepointWriter.new(128, parallelism=2)
        .with_keyed_state("count", ValueStateDescriptor("seen", Types.LONG()), {f"key {n}": n for n in range(5000)})
        .with_list_state("source", ListStateDescriptor("offsets", Types.LONG()), [])
        .with_broadcast_state("rules", MapStateDescriptor("rules", Types.STRING(), Types.LONG()), {})
        .write(str(tmp_path / "savepoint"))
    )


def test_it_says_what_there_is(savepoint: str) -> None:
    with SavepointReader.read(f"{savepoint}/_metadata") as reader:
        (info,) = reader.states("count")
        assert (info.name, info.kind, info.type, info.entries) == ("seen", "value", "Long", 5000)
        assert info.size_bytes > 5000
        count, source, rules = reader.operators
        assert (count.has_keyed_state, source.has_keyed_state) == (True, False)
        assert (source.list_states, rules.broadcast_states) == (("offsets",), ("rules",))
        assert (len(reader.list_state("source", "offsets")), len(reader.broadcast_state("rules", "rules"))) == (0, 0)
        assert reader.states("source") == []


def test_a_large_state_comes_in_batches(savepoint: str) -> None:
    with SavepointReader.read(savepoint) as reader:
        sizes = [batch.num_rows for batch in reader.batches("count", "seen")]
        assert sum(sizes) == 5000
        assert max(sizes) <= 1024


def test_timers_of_an_operator_without_any_are_no_rows(savepoint: str) -> None:
    with SavepointReader.read(savepoint) as reader:
        assert reader.timers("count").num_rows == 0
        with pytest.raises(ProgramError, match="'wall': ask for 'event' or 'processing'"):
            reader.timers("count", "wall")  # type: ignore[arg-type]


def test_what_is_not_there_is_named_with_what_is(savepoint: str) -> None:
    with SavepointReader.read(savepoint) as reader:
        with pytest.raises(RestoreError, match=r"no operator of uid 'counts' in .*there are: count, source, rules"):
            reader.states("counts")
        with pytest.raises(RestoreError, match=r"no values of a keyed state 'sum'.*states that have: seen"):
            reader.keyed_state("count", "sum")
        with pytest.raises(RestoreError, match=r"no split or union state 'offset'.*operator states: offsets"):
            reader.list_state("source", "offset")
        with pytest.raises(RestoreError, match="no broadcast state 'offsets'"):
            reader.broadcast_state("source", "offsets")


def test_a_file_that_was_changed_is_damaged(savepoint: str) -> None:
    for path in Path(savepoint).glob("*seen*"):
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
    with SavepointReader.read(savepoint) as reader, pytest.raises(DamagedFileError, match="seen"):
        reader.keyed_state("count", "seen")


def test_a_place_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RestoreError, match="there is no snapshot"):
        SavepointReader.read(str(tmp_path))


def test_temporary_files_are_gone_afterwards(savepoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with SavepointReader.read(savepoint) as reader:
        table = reader.keyed_state("count", "seen")
    assert list(scratch.iterdir()) == []
    assert len(table) == 5000
