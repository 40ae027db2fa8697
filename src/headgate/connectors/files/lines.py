"""What a record is in a file of lines: the formats that turn blocks of bytes into records.

A format works on blocks of whole lines, since one call for thousands of lines costs little for each of them.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, final

from headgate.errors import ProgramError

if TYPE_CHECKING:
    from headgate.connectors.files.csv_lines import CsvOptions
    from headgate.types.typeinfo import TypeInformation

BYTE_ORDER_MARK: Final = codecs.BOM_UTF8
"""What some programs write in front of UTF-8; it is not text."""


class BrokenLines(Enum):
    """What to do with a line that is no record."""

    FAIL = "fail"
    """Raise `SourceError` naming file, line and offset: the job fails."""
    SKIP = "skip"
    """Leave it out and count it in `skipped_lines`. A line may be counted again after a restart."""


@final
@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line that is no record: its index in the block, and why."""

    line: int
    reason: str


@final
@dataclass(slots=True)
class Decoded:
    """The records of a block.

    `lines_after[i]` is how many lines of the block are used up after record i; None where each line is one record.
    `lines_open` counts lines at the end that belong to a record which goes on in the next block.
    """

    records: list[Any]
    lines_after: list[int] | None = None
    broken: list[BrokenLine] = field(default_factory=list)
    lines_open: int = 0


class LineDecoder(ABC):
    """Turns the blocks of one file into records."""

    @abstractmethod
    def decode(self, block: bytes, is_last: bool) -> Decoded:
        """Return the records of whole lines; the last line of the file may lack its newline."""


class StreamFormat(ABC):
    """How the records of a file are written. Make one with the functions of this class."""

    is_splittable: bool = True
    """Whether every newline ends a record, so that a file can be read from the middle."""

    header_lines: int = 0
    """How many lines at the start of a file are not records."""

    broken_lines: BrokenLines = BrokenLines.FAIL

    @abstractmethod
    def decoder(self, header: bytes) -> LineDecoder:
        """Return the decoder of a file that starts with these header lines.

        Raises ValueError saying what is wrong with the header.
        """

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8", broken_lines: BrokenLines = BrokenLines.FAIL) -> StreamFormat:
        """Return the format in which each line is a `str`, without its end, which is a newline or CR and newline."""
        return TextLineFormat(charset_name, broken_lines)

    @staticmethod
    def csv_format(options: CsvOptions | None = None) -> StreamFormat:
        """Return the format in which each line is a `Row`, its fields separated by commas; see `CsvOptions`.

        >>> from headgate.connectors.files.csv_lines import CsvOptions
        >>> from headgate.types.typeinfo import Types
        >>> types = Types.ROW_NAMED(["carrier", "delay"], [Types.STRING(), Types.INT()])
        >>> format = StreamFormat.csv_format(CsvOptions(types=types, null_value="NA"))
        """
        from headgate.connectors.files import csv_lines  # noqa: PLC0415 - CSV is one of the formats that this class names

        return csv_lines.CsvFormat(csv_lines.CsvOptions() if options is None else options)

    @staticmethod
    def json_lines_format(
        types: TypeInformation | None = None, broken_lines: BrokenLines = BrokenLines.FAIL
    ) -> StreamFormat:
        """Return the format in which each line is a JSON value, in UTF-8: a dict, a list or whatever it is in Python.

        With the type of a row, an object becomes a `Row` of these fields: those that it lacks are None, others are left
        out, and one of another type makes its line a broken one. Dates and times are ISO 8601 text.

        >>> from headgate.types.typeinfo import Types
        >>> format = StreamFormat.json_lines_format(Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]))
        """
        from headgate.connectors.files import json_lines  # noqa: PLC0415 - JSON is one of the formats that this class names

        return json_lines.JsonLinesFormat(types, broken_lines)


def check_charset(charset_name: str) -> str:
    """Return Python's name of a charset. Raises ProgramError unless a byte 10 is a newline in it, and nothing else."""
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
class TextLineFormat(StreamFormat):
    """Each line is a record, a `str`."""

    def __init__(self, charset_name: str, broken_lines: BrokenLines) -> None:
        self._charset = check_charset(charset_name)
        self.broken_lines = broken_lines

    def decoder(self, header: bytes) -> TextLineDecoder:
        return TextLineDecoder(self._charset)


@final
class TextLineDecoder(LineDecoder):
    """Decodes a block at once, or line by line when something in it is broken."""

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
    """Return the lines of the text without their ends; nothing else than newline ends a line.

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
