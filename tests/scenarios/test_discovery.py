"""Files that appear while a job runs are read once, also when it is stopped and goes on at another parallelism."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.connectors.rate import RateLimitedSource
from headgate.functions.fetching import Fetched, Fetcher, FetchingReader
from headgate.functions.source import Source, SourceContext, SourceReader
from tests.scenarios.runs import Runs, wait_until

Place = tuple[str, int]


class Inbox(Source[Place]):
    """The lines of the files in a folder."""

    bounded = False
    discovery_interval_ms = 10
    watermarks_per_split = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def splits(self, parallelism: int) -> list[Place]:
        return [(path.name, 0) for path in sorted(self.folder.iterdir())]

    def discover(self, known: frozenset[str]) -> list[Place]:
        return [split for split in self.splits(0) if split[0] not in known]

    def split_id(self, split: Place) -> str:
        return split[0]

    def reader(self, context: SourceContext) -> SourceReader[Place]:
        return FetchingReader(InboxFetcher(self.folder), context, self.split_id)


class InboxFetcher(Fetcher[Place]):
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left: list[Place] = []

    def add_splits(self, splits: list[Place]) -> None:
        self.left += splits

    def fetch(self) -> list[Fetched[Place]]:
        name, line = self.left.pop(0)
        lines = (self.folder / name).read_text().splitlines()[line:]
        return [Fetched(split=name, records=lines, after=lambda count: (name, line + count), ended=True)]


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    put(folder, "a")
    return folder


def put(folder: Path, name: str) -> None:
    """Let a file of 20 lines be there, whole at once."""
    hidden = folder.parent / name
    hidden.write_text("".join(f"{name}{number}\n" for number in range(20)))
    hidden.rename(folder / name)


def lines_of(*names: str) -> list[str]:
    return sorted(f"{name}{number}" for name in names for number in range(20))


def written(out: Path) -> list[str]:
    """The lines that are committed."""
    return sorted(line for part in out.rglob("part-*") for line in part.read_text().splitlines())


@pytest.mark.parametrize("records_per_second", [None, 400], ids=["as fast as it can", "at a rate"])
@pytest.mark.slow
def test_files_that_appear_are_read_once_through_stops_at_any_parallelism(
    inbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records_per_second: int | None
) -> None:
    runs = Runs(tmp_path / "checkpoints", monkeypatch)
    out = tmp_path / "out"
    names = ["a"]
    for parallelism in (2, 3, 1):
        source: Source[Any] = Inbox(inbox)
        if records_per_second is not None:
            source = RateLimitedSource(source, records_per_second)
        env = runs.environment(parallelism)
        sink = FileSink.for_row_format(str(out), Encoder.simple_string_encoder()).build()
        env.from_source(source, None, "inbox").uid("inbox").sink_to(sink).uid("out")
        job: Any = env.submit()
        for _ in range(2):
            names.append(chr(ord(names[-1]) + 1))
            put(inbox, names[-1])
            wait_until(lambda: len(written(out)) >= 20 * len(names), job)
        job.cancel()
        assert job.wait(120.0).status.word == "cancelled"
        assert written(out) == lines_of(*names)
