"""Logs and prints of a slot, each line with where it comes from.

`logging` writes to the standard error of the worker: each line names job, slot, attempt, operator and subtask. Lines
that user functions print go to standard output and name operator and subtask.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO, final

from headgate.ids import SlotIndex
from headgate.operators.base import Operator, OperatorContext
from headgate.operators.plain_sinks import PrintOperator
from headgate.runtime.slot.log_tail import LogTail
from headgate.runtime.slot.slot import Slot

_TAIL_FORMAT: Final = "[%(story)s] %(name)s: %(message)s"
_FORMAT: Final = "%(asctime)s %(levelname)s [%(story)s] %(name)s: %(message)s"


@final
class SlotStory(logging.Filter):
    """Adds to each log record the job, the slot, and the attempt, operator and subtask that run."""

    def __init__(self, job_name: str, index: SlotIndex) -> None:
        super().__init__()
        self._place = f"{job_name!r} slot {index}"
        self._slot: Slot | None = None

    def attempt_of(self, slot: Slot) -> None:
        """Read attempt, operator and subtask from this slot from now on."""
        self._slot = slot

    def mark(self) -> str:
        """Return the prefix for a line that a user function prints now; empty inside the operator of `print()`."""
        context = self._context()
        if context is None or isinstance(self._at_work(), PrintOperator):
            return ""
        return f"[{context.name} {context.subtask}] "

    def _at_work(self) -> Operator | None:
        return None if self._slot is None else self._slot.at_work

    def _context(self) -> OperatorContext | None:
        # An operator that is just being opened has no context yet.
        return getattr(self._at_work(), "context", None)

    def filter(self, record: logging.LogRecord) -> bool:
        context = self._context()
        where = "" if context is None else f" attempt {context.attempt} {context.name!r} subtask {context.subtask}"
        record.story = self._place + where
        return True


@final
class MarkedOutput(io.TextIOBase):
    """Writes text to `output`. Each line begins with the prefix that `mark` returns at the start of the line.

    Lines of other threads than the creating thread get no prefix: `mark` names the operator that the loop runs.
    """

    def __init__(self, output: TextIO, mark: Callable[[], str], told: Callable[[str], None] | None = None) -> None:
        """`told` is called with each text that is written."""
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
        *whole, last = text.split("\n")  # not splitlines(): a progress bar has \r inside its line
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
    def encoding(self) -> str:  # type: ignore[override]  # as a text stream of Python
        return self._output.encoding

    @property
    def buffer(self) -> object:
        """The binary stream, as in Python's text streams. Bytes written there get no prefix."""
        return self._output.buffer


@contextmanager
def slot_logging(job_name: str, index: SlotIndex, level: str, tail: LogTail | None) -> Iterator[SlotStory]:
    """Configure logging and `sys.stdout` for a slot inside the block.

    Standard output is flushed after each line, because a task may never end. `tail` receives all lines, too.
    """
    story = SlotStory(job_name, index)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.addFilter(story)
    root, own = logging.getLogger(), logging.getLogger("headgate")
    levels = root.level, own.level
    handlers = [handler] if tail is None else [handler, tail]
    if tail is not None:
        tail.setFormatter(logging.Formatter(_TAIL_FORMAT))
        tail.addFilter(story)
    for each in handlers:
        root.addHandler(each)
    root.setLevel(logging.INFO)
    own.setLevel(level)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    printed = sys.stdout
    sys.stdout = MarkedOutput(printed, story.mark, None if tail is None else tail.printed)
    try:
        yield story
    finally:
        sys.stdout = printed
        for each in handlers:
            root.removeHandler(each)
        root.setLevel(levels[0])
        own.setLevel(levels[1])
