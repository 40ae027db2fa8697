"""The dialect of CSV: delimiters between values, quotes around them, and the text for None."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, final

UNQUOTED_MAX: Final = 24
"""Number of characters above which a text is quoted unchecked, as in Flink's CSV writer."""


class LinesParser(Iterator[list[str]], Protocol):
    """What `csv.reader` returns."""

    line_num: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvDialect:
    """The parts of a dialect; None for a missing one. `array_delimiter` separates the elements of a field."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    array_delimiter: str = ";"
    null_literal: str | None = None

    def parser(self, lines: Iterable[str]) -> LinesParser:
        """Return a parser of lines into fields. It raises csv.Error for a line that is not CSV."""
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            quoting=csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL,
            strict=True,
        )

    def parse_first(self, text: str) -> list[str]:
        """Return the fields of the first line of a text. Raises csv.Error if it is not CSV."""
        return next(self.parser(io.StringIO(text, newline="")), [])

    def quoter(self) -> Callable[[str], str]:
        """Return a function that quotes a text where it may be necessary: by Flink's rule, for the same bytes."""
        quote, escape = self.quote, self.escape
        if quote is None:
            return str
        last_unsafe = re.escape(max(quote, self.delimiter, "\r"))
        is_unsafe = re.compile(f"[\0-{last_unsafe}\\\\{re.escape(escape or '')}]").search

        def quoted(text: str) -> str:
            if len(text) <= UNQUOTED_MAX and not is_unsafe(text):
                return text
            if escape is not None:
                text = text.replace(escape, escape * 2)
            return f"{quote}{text.replace(quote, quote * 2)}{quote}"

        return quoted


def single(character: str, what: str) -> str:
    """Return `character`. Raises ValueError unless it is exactly one character."""
    if not isinstance(character, str) or len(character) != 1:
        raise ValueError(f"{what} of CSV must be a single character, not {character!r}")
    return character
