"""What user functions print in a slot: each line with the operator and subtask that it comes from."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import TextIO, final


@final
class MarkedOutput(io.TextIOBase):
    """Text as it is written, each line with what `mark` says when it begins.

    Other threads than the one that made this are not marked: `mark` is of what the loop is doing.
    """

    def __init__(self, output: TextIO, mark: Callable[[], str], told: Callable[[str], None] | None = None) -> None:
        """`told` is called with what is written, as it is written."""
        self._output = output
        self._told = told
        self._mark = mark
        self._loop = threading.get_ident()
        self._in_line = False

    def write(self, text: str) -> int:
        mark = "" if threading.get_ident() != self._loop else self._mark()
        marked = self._marked(text, mark) if mark else text
        self._output.write(marked)
        if self._told is not None:
            self._told(marked)
        self._in_line = not text.endswith("\n") if text else self._in_line
        return len(text)

    def _marked(self, text: str, mark: str) -> str:
        *whole, last = text.split("\n")  # at no other character: a bar of progress has \r in its line
        lines = [*(f"{line}\n" for line in whole), *([last] if last else [])]
        begin = 1 if self._in_line else 0
        return "".join(lines[:begin]) + "".join(mark + line for line in lines[begin:])

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        self._output.flush()

    def fileno(self) -> int:
        return self._output.fileno()

    def isatty(self) -> bool:
        return self._output.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a text stream of Python's own has one
        return self._output.encoding

    @property
    def buffer(self) -> object:
        """The bytes below, as of a text stream of Python's own; what goes there is not marked."""
        return self._output.buffer
