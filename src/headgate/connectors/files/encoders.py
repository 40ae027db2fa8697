"""Encoders: how records become the bytes of a file."""

from __future__ import annotations

import datetime
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, final

from headgate.errors import ProgramError, SinkError
from headgate.types.row import Row


class Encoder(ABC):
    """Writes records as lines. Make one with the functions of this class, or derive your own."""

    suffix: str = ""
    """How the names of files in this encoding end, for instance ".jsonl"."""

    def header(self) -> bytes:
        """Return what stands at the start of each file."""
        return b""

    @abstractmethod
    def encode(self, records: list[Any]) -> bytes:
        """Return the bytes of the records, in order, each with its end. Raises `SinkError` naming one that has none."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Return an encoder that writes `str(record)` and a newline."""
        return SimpleStringEncoder(charset_name)

    @staticmethod
    def json_lines_encoder() -> Encoder:
        """Return an encoder that writes each record as one line of JSON.

        A row with names is an object, any other row and a tuple an array; dates and times are ISO 8601 text, decimals
        text. NaN and the infinities are not JSON and are refused.
        """
        return JsonLinesEncoder()

    @staticmethod
    def csv_encoder(
        columns: Sequence[str], *, header: bool = True, delimiter: str = ",", null_value: str = ""
    ) -> Encoder:
        """Return an encoder that writes each record as a line of CSV, in UTF-8; each file starts with a header.

        A record is a row with these names or a dict with these keys, else a tuple, list or row with as many fields.
        Dates and times are ISO 8601 text, booleans true and false, None is `null_value`. A field with a delimiter, a
        quote or a newline stands in quotes: who reads it has to allow newlines within (`CsvOptions(multiline=True)`).
        """
        from headgate.connectors.files import csv_encoder  # noqa: PLC0415 - one of the encoders that this class names

        return csv_encoder.CsvEncoder(tuple(columns), header, delimiter, null_value)


@final
class SimpleStringEncoder(Encoder):
    """`str(record)` and a newline."""

    def __init__(self, charset_name: str) -> None:
        try:
            "".encode(charset_name)
        except LookupError:
            raise ProgramError(f"there is no charset {charset_name!r}; try 'UTF-8'") from None
        self._charset = charset_name

    def encode(self, records: list[Any]) -> bytes:
        try:
            return "".join([f"{record}\n" for record in records]).encode(self._charset)
        except UnicodeEncodeError as error:
            line = error.object[: error.end].count("\n")
            raise SinkError(f"{str(records[line])!r} cannot be written as {self._charset}: {error.reason}") from error


@final
class JsonLinesEncoder(Encoder):
    """A line of JSON for each record."""

    suffix = ".jsonl"

    def encode(self, records: list[Any]) -> bytes:
        try:
            return "".join([f"{_encode(record)}\n" for record in records]).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise _not_json(records, error) from error


def _plain(value: object) -> Any:
    match value:
        case Row():
            return value.as_dict() if value._fields is not None else list(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case _:
            raise TypeError(f"a {type(value).__name__} has no form in JSON")


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode


def _not_json(records: list[Any], error: Exception) -> SinkError:
    for record in records:
        try:
            _encode(record).encode()
        except (TypeError, ValueError, RecursionError) as reason:
            return SinkError(f"the record {record!r:.200} cannot be written as JSON: {reason}; map it first")
    return SinkError(f"records cannot be written as JSON: {error}")
