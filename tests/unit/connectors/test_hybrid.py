"""A hybrid source: which sources it takes, and what becomes of the readers of those that are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.collection import CollectionSource
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.file_errors import FileErrors
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.hybrid import HybridSource, StageSplit
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.errors import ProgramError
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader
from headgate.testing.contracts.source import ReaderContext
from headgate.types.instant import Duration
from headgate.types.output_tag import OutputTag
from tests.unit.datastream.environments import environment


class Noted(Source[str]):
    """Splits of one record, and a reader that notes what it is told."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    def splits(self, parallelism: int) -> list[str]:
        return []

    def split_id(self, split: str) -> str:
        return split

    def reader(self, context: SourceContext) -> SourceReader[str]:
        return NotingReader(self.noted)


class NotingReader(SourceReader[str]):
    def __init__(self, noted: list[Any]) -> None:
        self.noted = noted
        self.left: list[str] = []

    def add_splits(self, splits: list[str]) -> None:
        self.left += splits

    def poll(self, records_max: int) -> Poll:
        return Records([self.left.pop(0)]) if self.left else END_OF_INPUT

    def snapshot(self) -> list[str]:
        return self.left

    def notify_completed(self, splits: list[str]) -> None:
        self.noted.append(splits)

    def close(self) -> None:
        self.noted.append("closed")


def test_a_reader_hears_of_its_own_splits_and_is_closed_when_the_next_source_begins() -> None:
    first, second = Noted(), Noted()
    reader = HybridSource([first, second]).reader(ReaderContext())
    reader.add_splits([StageSplit(0, "a")])
    assert reader.poll(9) == Records(["a"], split="0/")
    reader.add_splits([StageSplit(1, "b"), StageSplit(1, "c")])
    reader.notify_completed([StageSplit(0, "a"), StageSplit(1, "b")])
    assert (first.noted, second.noted) == ([["a"]], [["b"]])
    assert reader.poll(9) == Records(["b"], split="1/")
    assert first.noted == [["a"], "closed"]
    assert reader.snapshot() == [StageSplit(1, "c")]
    reader.close()
    assert (first.noted, second.noted) == ([["a"], "closed"], [["b"], "closed"])


LINES = StreamFormat.text_line_format()
MONITORED = FileSource.for_record_stream_format(LINES, "/in").monitor_continuously(Duration.of_seconds(1)).build()


@pytest.mark.parametrize(
    ("sources", "reason"),
    [
        ([MONITORED, NumberSequenceSource(1, 2)], "source 1 of a HybridSource, a FileSource, never ends"),
        ([DataGeneratorSource(str), NumberSequenceSource(1, 2)], "source 1 .* never ends"),
        (
            [NumberSequenceSource(1, 2), HybridSource([NumberSequenceSource(1, 2)])],
            "add the sources that it is made of",
        ),
        ([NumberSequenceSource(1, 2), CollectionSource([1])], "source 2 .*, does not name its splits"),
        ([NumberSequenceSource(1, 2), [1, 2]], "source 2 .*, a list, is not a source"),
    ],
    ids=["monitored", "endless", "hybrid", "nameless", "list"],
)
def test_sources_that_cannot_be_read_so_are_refused_by_their_place(sources: list[Any], reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        HybridSource(sources)


def test_the_last_source_may_go_on_for_ever() -> None:
    source = HybridSource.builder(NumberSequenceSource(1, 2)).add_source(MONITORED).build()
    assert not source.bounded
    assert source.discovery_interval_ms == 1_000


def test_the_side_output_of_its_files_is_its_own(tmp_path: Path) -> None:
    def files(tag: str) -> FileSource:
        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        return lines.on_error(FileErrors.side_output(OutputTag(tag))).build()

    assert HybridSource([files("bad"), NumberSequenceSource(1, 2)]).failed_tag == OutputTag("bad")
    assert HybridSource([NumberSequenceSource(1, 2), NumberSequenceSource(3, 4)]).failed_tag is None
    with pytest.raises(ProgramError, match=r"side outputs \['bad', 'worse'\]: give them the same OutputTag"):
        HybridSource([files("bad"), files("worse")])


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_bad_file_of_the_first_stage_does_not_stop_the_next_one(parallelism: int, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_text("this is no gzip")
    (tmp_path / "b").write_text("1\n")
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    source = HybridSource(
        [lines.on_error(FileErrors.side_output(OutputTag("bad"))).build(), NumberSequenceSource(2, 2)]
    )
    env = environment().set_parallelism(parallelism)
    stream = env.from_source(source, None, "both")
    bad = stream.get_side_output(OutputTag("bad")).map(lambda file: Path(file.path).name)
    with stream.union(bad).execute_and_collect() as found:
        assert sorted(map(str, found)) == ["1", "2", "a.gz"]
