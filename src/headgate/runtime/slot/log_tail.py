"""The lines that a slot logs and prints, kept for its next report to the driver, up to a limit."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final, final

from headgate.runtime.control.messages import LogLine

LINES_MAX: Final = 200
"""The greatest number of lines of one report."""
CHARACTERS_MAX: Final = 64 * 1024
"""The number of characters after which a report is full."""
LINE_MAX: Final = 2_000
"""The greatest number of characters of one line. The rest is cut."""


@final
class LogTail(logging.Handler):
    """Keeps lines until the slot takes them for a report. May be called from any thread.

    When a report is full, further lines are only counted, so a flood of lines is cheap.
    """

    def __init__(self) -> None:
        super().__init__()
        self._guard = threading.Lock()
        self._lines: list[LogLine] = []
        self._characters = 0
        self._left_out = 0
        self._begun = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a log record."""
        with self._guard:
            if self._has_no_room():
                return
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001  # an error while logging must not fail the job
            self.handleError(record)
            return
        with self._guard:
            self._add(LogLine(wall_ms=int(record.created * 1000), level=record.levelname, text=text[:LINE_MAX]))

    def printed(self, text: str) -> None:
        """Keep the printed lines. The last line is kept once its end is printed."""
        with self._guard:
            lines = text.split("\n")
            lines[0] = self._begun + lines[0]
            self._begun = lines.pop()[:LINE_MAX]
            for line in lines:
                if line.strip() and not self._has_no_room():
                    self._add(LogLine(wall_ms=int(time.time() * 1000), level="PRINTED", text=line[:LINE_MAX]))

    def take(self) -> tuple[LogLine, ...]:
        """Return the lines since the last call."""
        if not self._lines:
            return ()
        with self._guard:
            lines, self._lines = self._lines, []
            left_out, self._left_out, self._characters = self._left_out, 0, 0
        if left_out:
            lines.append(LogLine(wall_ms=lines[-1].wall_ms, level="", text=f"({left_out:,} more lines are not shown)"))
        return tuple(lines)

    def _has_no_room(self) -> bool:
        is_full = len(self._lines) >= LINES_MAX or self._characters >= CHARACTERS_MAX
        self._left_out += is_full
        return is_full

    def _add(self, line: LogLine) -> None:
        self._lines.append(line)
        self._characters += len(line.text)
