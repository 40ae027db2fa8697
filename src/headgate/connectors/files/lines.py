"""Decoders of files of lines: they turn blocks of bytes into records.

A decoder works on blocks of whole lines, since one call for thousands of lines costs little for each of them.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, final

from headgate.errors import ProgramError

if TYPE_CHECKING:
    import pyarrow as pa

BYTE_ORDER_MARK: Final = codecs.BOM_UTF8
"""The byte order mark that some programs write before UTF-8 text."""


_OTHER_MARKS: Final = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def check_start(start: bytes) -> None:
    """Raise ValueError if a file starts with the byte order mark of a charset whose newline is not a byte 10."""
    for mark, charset in _OTHER_MARKS.items():
        if start.startswith(mark):
            raise ValueError(
                f"it is {charset}, as its first bytes say, and lines of it cannot be told apart by bytes; "
                "convert it to UTF-8"
            )


class BrokenLines(Enum):
    """The reaction to a line that cannot be converted to a record."""

    FAIL = "fail"
    """Raise `SourceError` naming file, line and offset: the job fails."""
    SKIP = "skip"
    """Leave the line out and count it in `skipped_lines`. After a restart it may be counted again."""


@final
@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line that cannot be made a record, with its index in the block and the reason."""

    line: int
    reason: str


@final
@dataclass(slots=True)
class Decoded:
    """The records of a block.

    `lines_after[i]` is the number of lines of the block up to the end of record i; None if each line is one record.
    `lines_open` counts lines at the end of the block whose record continues in the next block.
    """

    records: list[Any] | pa.RecordBatch
    lines_after: list[int] | None = None
    broken: list[BrokenLine] = field(default_factory=list)
    lines_open: int = 0


class LineDecoder(ABC):
    """Turns the blocks of one file into records."""

    @abstractmethod
    def decode(self, block: bytes, is_last: bool) -> Decoded:
        """Return the records of whole lines; the last line of the file may lack its newline."""


def check_charset(charset_name: str) -> str:
    """Return Python's name of a charset. Raises ProgramError unless exactly the byte 10 is its newline."""
    try:
        name = codecs.lookup(charset_name).name
    except LookupError:
        raise ProgramError(
            f"there is no charset {charset_name!r}; Python's names are known, for instance 'UTF-8'"
        ) from None
    if name == "utf-8-sig":
        return "utf-8"
    if name.startswith(("utf-16", "utf-32", "utf-7", "iso2022", "hz")) or "\n".encode(name) != b"\n":
        raise ProgramError(
            f"lines in the charset {charset_name!r} cannot be told apart by bytes; convert to UTF-8 first"
        )
    return name


@final
class TextLineDecoder(LineDecoder):
    """Decodes a block at once. A block with a broken line is decoded line by line."""

    def __init__(self, charset: str) -> None:
        self._charset = charset

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        try:
            text = block.decode(self._charset)
        except UnicodeDecodeError:
            return self._decode_each(block)
        return Decoded(split_lines(text))

    def _decode_each(self, block: bytes) -> Decoded:
        decoded = Decoded([], [])
        assert decoded.lines_after is not None
        for index, line in enumerate(split_raw_lines(block)):
            try:
                text = line.decode(self._charset)
            except UnicodeDecodeError as error:
                decoded.broken.append(BrokenLine(index, describe_undecodable(line, error)))
            else:
                decoded.records.append(text)
                decoded.lines_after.append(index + 1)
        return decoded


def split_lines(text: str) -> list[str]:
    """Return the lines of the text without their line ends. Only a newline ends a line, also after a CR.

    >>> split_lines("a\\r\\nb\\x0bc\\n")
    ['a', 'b\\x0bc']
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def split_raw_lines(block: bytes) -> list[bytes]:
    """Return the lines of the block without their ends."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def describe_undecodable(line: bytes, error: UnicodeDecodeError) -> str:
    """Say which byte is not text."""
    return f"byte {error.start} of the line, {line[error.start]:#04x}, is not {error.encoding} ({error.reason})"
