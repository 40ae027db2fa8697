"""A snapshot as one local file, where something is made of it before it is stored."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import final

from headgate.state.files import InlineHandle, StateHandle


@final
class LocalFile:
    """A `StateWriter` of one local file; its handles are of no use."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        with self._target.open("wb") as file:
            file.writelines(pieces)
        return InlineHandle(b"")

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        shutil.move(source, self._target)
        return InlineHandle(b"")
