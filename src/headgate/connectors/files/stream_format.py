"""Formats of files of lines: text, CSV and JSON lines, and the base class for formats of your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

from headgate.connectors.files.csv_lines import CsvDecoder, CsvOptions, check_options, decoder_of
from headgate.connectors.files.json_lines import JsonLinesDecoder
from headgate.connectors.files.lines import BrokenLines, LineDecoder, TextLineDecoder, check_charset
from headgate.types.typeinfo import TypeInformation


class StreamFormat(ABC):
    """The format of a file of lines. Make a format with the static methods of this class."""

    produced_type: TypeInformation | None = None
    """The type of the records, None if it is unknown."""

    is_splittable: bool = True
    """Whether every newline ends a record, so that a file can be read from the middle."""

    header_lines: int = 0
    """Number of lines at the start of a file that are not records."""

    broken_lines: BrokenLines = BrokenLines.FAIL
    """The reaction to a line that is not a record."""

    def is_header(self, line: bytes) -> bool:
        """Return whether a line at the start of a file, without its newline, belongs to the header."""
        return True

    @abstractmethod
    def decoder(self, header: bytes) -> LineDecoder:
        """Return the decoder for a file that starts with these header lines.

        Raises ValueError with the fault of the header.
        """

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8", broken_lines: BrokenLines = BrokenLines.FAIL) -> StreamFormat:
        """Return the format in which each line is a `str`. The end of the line, LF or CR LF, is removed."""
        return TextLineFormat(charset_name, broken_lines)

    @staticmethod
    def csv_format(options: CsvOptions | None = None) -> StreamFormat:
        """Return the format in which each line is a `Row` with comma-separated fields; see `CsvOptions`.

        >>> from headgate.types.typeinfo import Types
        >>> types = Types.ROW_NAMED(["carrier", "delay"], [Types.STRING(), Types.INT()])
        >>> format = StreamFormat.csv_format(CsvOptions(types=types, null_value="NA"))
        """
        return CsvFormat(CsvOptions() if options is None else options)

    @staticmethod
    def json_lines_format(
        types: TypeInformation | None = None, broken_lines: BrokenLines = BrokenLines.FAIL
    ) -> StreamFormat:
        """Return the format in which each line is a JSON value in UTF-8. Records are dicts, lists or plain values.

        With a row type, an object becomes a `Row` with the fields of the type. Missing fields are None, and unknown
        fields are dropped. A value of another type makes its line a broken line. Dates, times and intervals are ISO
        8601 text, decimals are text or whole numbers, bytes are Base64.

        >>> from headgate.types.typeinfo import Types
        >>> format = StreamFormat.json_lines_format(Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]))
        """
        return JsonLinesFormat(types, broken_lines)


@final
class TextLineFormat(StreamFormat):
    """Each line is a `str`."""

    def __init__(self, charset_name: str, broken_lines: BrokenLines) -> None:
        self._charset = check_charset(charset_name)
        self.broken_lines = broken_lines

    def decoder(self, header: bytes) -> TextLineDecoder:
        return TextLineDecoder(self._charset)


@final
class CsvFormat(StreamFormat):
    """Each line is a `Row` with names. Blank lines are skipped."""

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
    """Each line is a JSON value, converted to a type if there is one. Blank lines are skipped."""

    def __init__(self, types: TypeInformation | None, broken_lines: BrokenLines) -> None:
        self.broken_lines = broken_lines
        self._types = types
        self.decoder(b"")

    def decoder(self, header: bytes) -> JsonLinesDecoder:
        return JsonLinesDecoder(self._types)
