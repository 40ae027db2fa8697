"""Formats of files of lines: those that there are, and what one of your own has to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

from headgate.connectors.files.csv_lines import CsvDecoder, CsvOptions, check_options, decoder_of
from headgate.connectors.files.json_lines import JsonLinesDecoder
from headgate.connectors.files.lines import BrokenLines, LineDecoder, TextLineDecoder, check_charset
from headgate.types.typeinfo import TypeInformation


class StreamFormat(ABC):
    """How the records of a file are written. Make one with the functions of this class."""

    produced_type: TypeInformation | None = None
    """The type that all records are of, None where it is not known."""

    is_splittable: bool = True
    """Whether every newline ends a record, so that a file can be read from the middle."""

    header_lines: int = 0
    """How many lines at the start of a file are not records."""

    broken_lines: BrokenLines = BrokenLines.FAIL

    def is_header(self, line: bytes) -> bool:
        """Return whether a line at the start of a file, without its newline, counts as one of the header."""
        return True

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

        >>> from headgate.types.typeinfo import Types
        >>> types = Types.ROW_NAMED(["carrier", "delay"], [Types.STRING(), Types.INT()])
        >>> format = StreamFormat.csv_format(CsvOptions(types=types, null_value="NA"))
        """
        return CsvFormat(CsvOptions() if options is None else options)

    @staticmethod
    def json_lines_format(
        types: TypeInformation | None = None, broken_lines: BrokenLines = BrokenLines.FAIL
    ) -> StreamFormat:
        """Return the format in which each line is a JSON value, in UTF-8: a dict, a list or whatever it is in Python.

        With the type of a row, an object becomes a `Row` of these fields: those that it lacks are None, others are left
        out, and one of another type makes its line a broken one. Dates, times and intervals are ISO 8601 text, decimals
        text or whole numbers, bytes Base64.

        >>> from headgate.types.typeinfo import Types
        >>> format = StreamFormat.json_lines_format(Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]))
        """
        return JsonLinesFormat(types, broken_lines)


@final
class TextLineFormat(StreamFormat):
    """Each line is a record, a `str`."""

    def __init__(self, charset_name: str, broken_lines: BrokenLines) -> None:
        self._charset = check_charset(charset_name)
        self.broken_lines = broken_lines

    def decoder(self, header: bytes) -> TextLineDecoder:
        return TextLineDecoder(self._charset)


@final
class CsvFormat(StreamFormat):
    """Each line is a record, a `Row` with names. Blank lines are no records."""

    def __init__(self, options: CsvOptions) -> None:
        check_options(options)
        self._options = options
        self._charset = check_charset(options.charset_name)
        self.is_splittable = not options.multiline
        self.header_lines = int(options.header)
        self.broken_lines = options.broken_lines

    def decoder(self, header: bytes) -> CsvDecoder:
        return decoder_of(self._options, self._charset, header)


@final
class JsonLinesFormat(StreamFormat):
    """Each line is a record: what the JSON is in Python, or a value of a type. Blank lines are no records."""

    def __init__(self, types: TypeInformation | None, broken_lines: BrokenLines) -> None:
        self.broken_lines = broken_lines
        self._types = types
        self.decoder(b"")

    def decoder(self, header: bytes) -> JsonLinesDecoder:
        return JsonLinesDecoder(self._types)
