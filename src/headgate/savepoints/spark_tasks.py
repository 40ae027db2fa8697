"""Tasks of Spark: each writes a partition of a Spark data frame into files of a savepoint."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, final

import pyarrow as pa

from headgate.checkpoint.file_store import FileSystemStore
from headgate.savepoints.input_data import InputColumns
from headgate.savepoints.state_files import StateTarget
from headgate.state.files import FileHandle, StateFile

WRITTEN: Final = "subtask int, name string, path string, size_bytes long, crc32 long"
"""The schema of the rows in which a task reports its files, as a schema string of Spark."""
_SCHEMA: Final = pa.schema(
    [
        ("subtask", pa.int32()),
        ("name", pa.string()),
        ("path", pa.string()),
        ("size_bytes", pa.int64()),
        ("crc32", pa.int64()),
    ]
)


@final
@dataclass(frozen=True, slots=True)
class TaskWriter:
    """Writes the batches of a partition into files below `location` when called, and yields a report of the files.

    A task that runs twice uses other file names in each run. Only the reports of the run that Spark accepts are used.
    """

    target: StateTarget
    reading: InputColumns
    location: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next(batches, None)
        if first is None:
            return
        entries = self.reading.pairs(first.schema, chain([first], batches))
        store = FileSystemStore.open_folder(self.location)
        written = self.target.write(entries, store, part=secrets.token_hex(4))
        rows = [
            {
                "subtask": subtask,
                "name": file.name,
                "path": file.handle.path,
                "size_bytes": file.handle.size_bytes,
                "crc32": file.handle.crc32,
            }
            for subtask, file in written
            if isinstance(file.handle, FileHandle)
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def written_files(rows: Iterable[Sequence[Any]]) -> list[tuple[int, StateFile]]:
    """Return the files in the reports of tasks, with their subtasks' indices, sorted by name."""
    return sorted(
        ((subtask, StateFile(name, FileHandle(path, size, crc32))) for subtask, name, path, size, crc32 in rows),
        key=lambda found: (found[0], found[1].name),
    )
