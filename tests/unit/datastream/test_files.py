"""Files in programs, under PyFlink's names: where output goes by default, older names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.common import Types
from headgate.datastream.connectors.file_system import (
    BulkWriterFactory,
    Encoder,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OnCheckpointRollingPolicy,
    StreamingFileSink,
)
from headgate.errors import ProgramError
from tests.unit.datastream.environments import environment

TEXT = Encoder.simple_string_encoder()


def written(folder: Path) -> dict[str, list[str]]:
    """The lines of each visible file, by its path below the folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_text().splitlines() for path in files}


def test_files_go_to_a_folder_for_the_hour_of_writing_by_default(tmp_path: Path) -> None:
    env = environment()
    env.from_collection(["a", "b"]).sink_to(FileSink.for_row_format(str(tmp_path), TEXT).build())
    env.execute()
    [(path, lines)] = written(tmp_path).items()
    assert re.match(r"\d{4}-\d\d-\d\d--\d\d/part-", path)
    assert lines == ["a", "b"]


def test_files_that_are_not_lines_roll_at_checkpoints_only_by_default(tmp_path: Path) -> None:
    parquet = BulkWriterFactory.parquet_writer(Types.ROW_NAMED(["id"], [Types.LONG()]))
    assert isinstance(FileSink.for_bulk_format(str(tmp_path), parquet).rolling_policy, OnCheckpointRollingPolicy)


def test_a_sink_under_its_older_name_is_added(tmp_path: Path) -> None:
    env = environment()
    env.from_collection(["a", "b"]).add_sink(StreamingFileSink.for_row_format(str(tmp_path), TEXT).build())
    env.execute()
    assert list(written(tmp_path).values()) == [["a", "b"]]


def test_compaction_is_accepted_with_a_warning_and_files_stay_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).set_num_compact_threads(2).build()
    sink = FileSink.for_row_format(str(tmp_path), TEXT)
    sink.enable_compact(strategy, FileCompactor.concat_file_compactor(b"--"))
    assert f"files in {tmp_path} are not compacted" in caplog.text
    env = environment()
    env.from_collection(["a", "b"]).sink_to(sink.build())
    env.execute()
    assert list(written(tmp_path).values()) == [["a", "b"]]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: FileCompactStrategy.builder().build(), "needs enable_compaction_on_checkpoint"),
        (lambda: FileCompactStrategy.builder().enable_compaction_on_checkpoint(0), "of checkpoints .* least 1, not 0"),
        (lambda: FileCompactStrategy.builder().set_size_threshold(0), "size threshold .* least 1, not 0"),
        (lambda: FileCompactStrategy.builder().set_num_compact_threads(0), "threads .* least 1, not 0"),
        (lambda: FileSink.for_row_format("out", TEXT).enable_compact(None, None), "takes a FileCompactStrategy"),  # type: ignore[arg-type]
    ],
)
def test_compaction_that_makes_no_sense_is_refused(ask: Callable[[], object], told: str) -> None:
    with pytest.raises(ProgramError, match=told):
        ask()


def test_a_text_file_is_read_in_one_call(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes("smør\nbrød\n".encode("latin-1"))
    stream = environment().read_text_file(str(tmp_path / "in.txt"), "ISO-8859-1")
    with stream.execute_and_collect() as lines:
        assert list(lines) == ["smør", "brød"]
