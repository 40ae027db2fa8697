"""Stream writers as authors of PySpark data sources write them, for the tests of the sink that drives them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import StructType


@dataclass
class Staged(WriterCommitMessage):
    """A file that is written, and not to be seen yet."""

    name: str
    rows: int


class StagedFiles(DataSourceStreamWriter):
    """Writes JSON lines to staged files; a commit renames those of a batch, which does no harm the second time."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def write(self, iterator: Iterator[Row]) -> Staged:
        task = TaskContext.get()
        assert task is not None
        name = f"{task.partitionId()}-{task.taskAttemptId()}-{uuid.uuid4().hex[:6]}"
        rows = 0
        self.folder.mkdir(parents=True, exist_ok=True)
        staged = self.folder / f".{name}.staged"
        try:
            with open(staged, "w") as file:
                for row in iterator:
                    file.write(json.dumps(row.asDict(recursive=True)) + "\n")
                    rows += 1
        except BaseException:
            staged.unlink()
            raise
        return Staged(name, rows)

    def commit(self, messages: Sequence[Any], batchId: int) -> None:
        for message in messages:
            final = self.folder / f"{batchId:08}-{message.name}.json"
            if not final.exists():
                os.rename(self.folder / f".{message.name}.staged", final)

    def abort(self, messages: Sequence[Any], batchId: int) -> None:
        for message in messages:
            (self.folder / f".{message.name}.staged").unlink(missing_ok=True)


class StagedFilesSource(DataSource):
    """The data source `staged-files` with the option `path`."""

    @classmethod
    def name(cls) -> str:
        return "staged-files"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StagedFiles:
        return StagedFiles(self.options["PATH"])


class BatchFile(DataSourceStreamWriter):
    """Keeps rows in its messages; a commit writes the file of the batch, whole, and a second one the same."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def write(self, iterator: Iterator[Row]) -> Lines:
        return Lines([json.dumps(row.asDict(recursive=True)) for row in iterator])

    def commit(self, messages: Sequence[Any], batchId: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        begun = self.folder / f".{batchId}"
        begun.write_text("".join(f"{line}\n" for message in messages for line in message.lines))
        os.replace(begun, self.folder / f"{batchId:08}.json")


@dataclass
class Lines(WriterCommitMessage):
    """The rows of a subtask themselves."""

    lines: list[str]


def rows_in(folder: str | Path) -> list[Any]:
    """Return the rows that a reader sees, in the order of the batches."""
    return [
        json.loads(line) for file in sorted(Path(folder).glob("[0-9]*.json")) for line in file.read_text().splitlines()
    ]


def batches_in(folder: str | Path) -> list[int]:
    """Return the ids of the batches that a reader sees."""
    return sorted({int(file.name.removesuffix(".json").partition("-")[0]) for file in Path(folder).glob("[0-9]*.json")})
