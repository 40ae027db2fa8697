"""A witness to what the job reads: it notes the records of each attempt where a SIGKILL cannot take them back."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.datastream import MapFunction, RuntimeContext

_NOTE = struct.Struct("=qq")


@dataclass(frozen=True)
class Note:
    """What one attempt has read, and the process that did it."""

    pid: int
    records: int


class Witness(MapFunction):
    """Hands records on as they are, and counts them in a file that is mapped into memory, one for each attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        path = self.folder / f"attempt-{runtime_context.get_attempt_number():03}"
        path.write_bytes(_NOTE.pack(os.getpid(), 0))
        with path.open("r+b") as file:
            self.note = memoryview(mmap.mmap(file.fileno(), _NOTE.size)).cast("q")

    def map(self, value: Any) -> Any:
        self.note[1] += 1
        return value


def notes(folder: Path) -> Iterator[Note]:
    """Return the notes of all attempts, in their order."""
    for path in sorted(folder.glob("attempt-*")):
        data = path.read_bytes()
        if len(data) == _NOTE.size:
            yield Note(*_NOTE.unpack(data))
