"""A reader that skips files that cannot be read."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.file_errors import FailedFile, FileErrors, UnreadableFileError
from headgate.connectors.files.places import Place, Stamp, name_of
from headgate.functions.source import Poll, Records, SourceContext, SourceReader

_log = logging.getLogger(__name__)

SKIPPED_COUNT: Final = "skipped_files"
LOGGED_MAX: Final = 5
"""Skipped files that a reader logs in one attempt."""


@final
@dataclass(frozen=True, slots=True)
class UncutFile:
    """A file that could not be cut into splits when the job started, with the error."""

    place: Place
    size_bytes: int
    error: str
    stamp: Stamp | None = None

    @property
    def part(self) -> str:
        """The whole file."""
        return ""


@final
class SkippingReader(SourceReader[Any]):
    """Reads with the reader of a format, and with a new reader after each split that cannot be read."""

    def __init__(self, bulk_format: BulkFormat[Any], errors: FileErrors, context: SourceContext) -> None:
        self._format = bulk_format
        self._errors = errors
        self._context = context
        self._reader: SourceReader[Any] = bulk_format.reader(context)
        self._uncut: list[UncutFile] = []
        self._skipped = 0

    def add_splits(self, splits: list[Any]) -> None:
        self._uncut += [split for split in splits if isinstance(split, UncutFile)]
        self._reader.add_splits([split for split in splits if not isinstance(split, UncutFile)])

    def poll(self, records_max: int) -> Poll:
        if self._uncut:
            uncut = self._uncut.pop()
            return self._skip(uncut, uncut.error)
        try:
            return self._reader.poll(records_max)
        except UnreadableFileError as error:
            failed, *left = self._reader.snapshot()
            self._reader.close()
            self._reader = self._format.reader(self._context)
            self._reader.add_splits(left)
            return self._skip(failed, str(error))

    def _skip(self, split: Any, error: str) -> Records:
        self._context.count(SKIPPED_COUNT)
        self._skipped += 1
        if self._skipped <= LOGGED_MAX:
            _log.warning("a file is left out: %s", error)
        if self._skipped == LOGGED_MAX:
            _log.warning("further files that are left out are only counted, in %s", SKIPPED_COUNT)
        if self._errors.tag is not None:
            self._context.side_output(self._errors.tag, FailedFile(str(split.place), error, split.size_bytes))
        return Records([], split=name_of(split), ended=True)

    def snapshot(self) -> list[Any]:
        return [*self._uncut, *self._reader.snapshot()]

    def close(self) -> None:
        self._reader.close()
