"""Rows of a type, from and to the fields of CSV lines, column by column; fields may hold arrays and rows."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, final

from headgate.errors import ProgramError
from headgate.types import text_values
from headgate.types.conversion import check_range, to_float
from headgate.types.csv_dialect import CsvDialect
from headgate.types.csv_rules import FLINK, CsvRules, Read, ReadColumn
from headgate.types.fold import BITS, NoForm, SequenceTypeInfo, TypeFold, always
from headgate.types.records import values_in_order, write_columns
from headgate.types.row import Row, make_row, make_rows
from headgate.types.sql_types import DecimalTypeInfo
from headgate.types.text import text_of
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import BasicType, BasicTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo, Types

Write = Callable[[Any], str]
"""Returns the text of a value that is not None, without quotes."""

FAILURES: Final = (ValueError, ArithmeticError)
"""The errors for a field that does not fit its type."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvForm:
    """How a field holds values of a type. `at_once` reads whole columns of ordinary texts.

    `may_be_null`: the field may be the text for None. `may_be_quoted`: False for numbers and booleans.
    """

    read: Read
    write: Write
    at_once: ReadColumn | None = None
    may_be_null: bool = True
    may_be_quoted: bool = True
    is_single: bool = True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRows:
    """Reads and writes the rows of a type. `ignore_errors`: a field that does not fit, or is missing, is None.

    `array_delimiters` maps names of fields to their own delimiters; an empty delimiter divides nothing.
    """

    types: RowTypeInfo
    dialect: CsvDialect
    rules: CsvRules = FLINK
    ignore_errors: bool = False
    array_delimiters: Mapping[str, str] = field(default_factory=dict)

    def reader(
        self, width: int | None = None, places: Sequence[int] | None = None
    ) -> Callable[[list[list[str]]], list[Row]]:
        """Return a function that makes rows of the fields of lines. It raises ValueError naming a wrong field.

        Lines have `width` fields; the fields at `places`, by default all, make the row. Raises ProgramError naming a
        field whose type CSV does not have.
        """
        names, columns = self.types.field_names, [self._column_reader(name, form) for name, form in self.forms()]
        width = len(names) if width is None else width
        is_plain = (
            places is None and self.dialect.null_literal is None and {*self.types.field_types} <= {Types.STRING()}
        )

        def read(lines: list[list[str]]) -> list[Row]:
            fitted: Any = lines
            if set(map(len, lines)) - {width}:
                fitted = [self.fitted(line, width) for line in lines]
            if is_plain or not fitted:
                return make_rows(fitted, names)
            found = list(zip(*fitted, strict=True))
            own = found if places is None else [found[place] for place in places]
            made = [column(texts) for column, texts in zip(columns, own, strict=True)]
            return make_rows(zip(*made, strict=True), names)

        return read

    def forms(self) -> list[tuple[str, CsvForm]]:
        """Return the name and the form of each field. Raises ProgramError for a type that CSV does not have."""
        return [
            (name, _Forms(self, self.array_delimiters.get(name, self.dialect.array_delimiter)).of(kind, name))
            for name, kind in zip(self.types.field_names, self.types.field_types, strict=True)
        ]

    def _column_reader(self, name: str, form: CsvForm) -> ReadColumn:
        null, at_once = self.dialect.null_literal if form.may_be_null else None, form.at_once
        read = self.nullable(form.read, null)

        def each(texts: Sequence[str]) -> list[Any]:
            try:
                return list(map(read, texts))
            except FAILURES as error:
                raise ValueError(f"field {name!r}: {error}") from error

        if at_once is None:
            return each

        def column(texts: Sequence[str]) -> Sequence[Any]:
            try:
                if null is None or null not in texts:
                    return at_once(texts)
                rest = iter(at_once([text for text in texts if text != null]))
                return [None if text == null else next(rest) for text in texts]
            except (*FAILURES, TypeError):
                return each(texts)

        return column

    def nullable(self, read: Read, null: str | None) -> Callable[[str | None], Any]:
        """Return a reader of fields that may be None, the text for None, or unfit."""
        ignores = self.ignore_errors

        def each(text: str | None) -> Any:
            if text is None or text == null:
                return None
            try:
                return read(text)
            except FAILURES:
                if ignores:
                    return None
                raise

        return each

    def fitted(self, fields: list[str], width: int) -> list[str | None]:
        """Return exactly `width` fields. Raises ValueError for another number, unless errors are ignored."""
        if len(fields) != width and not self.ignore_errors:
            raise ValueError(f"it has {len(fields)} fields instead of {width}")
        return [*fields, *[None] * (width - len(fields))][:width]

    def writer(self) -> Callable[[list[Any]], list[str]]:
        """Return a function that writes records as lines without line ends. It raises ValueError naming a wrong field.

        Raises ProgramError naming a field whose type CSV does not have.
        """
        names, delimiter = self.types.field_names, self.dialect.delimiter
        columns = [self._column_writer(form) for _, form in self.forms()]
        return lambda records: list(map(delimiter.join, zip(*write_columns(records, names, columns), strict=True)))

    def _column_writer(self, form: CsvForm) -> Callable[[list[Any]], list[str]]:
        write, null = form.write, self.dialect.null_literal or ""
        if not form.may_be_quoted:
            return lambda values: [null if value is None else write(value) for value in values]
        quoted = self.dialect.quoter()
        return lambda values: [null if value is None else quoted(write(value)) for value in values]


class _Forms(TypeFold[CsvForm]):
    """The forms of types in the fields of a column; `delimiter` divides its arrays and rows."""

    def __init__(self, rows: CsvRows, delimiter: str) -> None:
        self._rows = rows
        self._rules = rows.rules
        self._null = rows.dialect.null_literal
        self._delimiter = delimiter

    def refusal(self, type_info: TypeInformation, path: str) -> ProgramError:
        return ProgramError(
            f"field {path!r} cannot be a {type_info} in CSV; use another type, or read and write it as text"
        )

    # --- types of single values

    def string(self, type_info: BasicTypeInfo) -> CsvForm:
        if type_info.basic_type is BasicType.CHAR:
            return CsvForm(read=text_values.read_char, write=str)
        return CsvForm(read=str, write=_text, at_once=lambda texts: texts)

    def boolean(self) -> CsvForm:
        return CsvForm(read=self._rules.boolean, write=text_values.boolean_text, may_be_quoted=False)

    def integer(self, type_info: BasicTypeInfo) -> CsvForm:
        bits = BITS[type_info.basic_type]

        def at_once(texts: Sequence[str]) -> list[int]:
            values = text_values.ordinary(int, text_values.IN_INTEGERS, texts)
            check_range(values, bits)
            return values

        return CsvForm(
            read=lambda text: text_values.checked(text_values.read_integer(text), bits),
            write=int.__repr__,
            at_once=at_once,
            may_be_quoted=False,
        )

    def floating(self, type_info: BasicTypeInfo) -> CsvForm:
        number, has_infinity = self._rules.number, self._rules.has_infinity
        is_short = type_info.basic_type is BasicType.FLOAT

        def read(text: str) -> float:
            value: float = number(text)
            rounded = to_float(value) if is_short else value
            if math.isinf(rounded) and not math.isinf(value) and not has_infinity:
                raise ValueError(f"{text!r:.100} is out of range")
            return rounded

        def at_once(texts: Sequence[str]) -> list[float]:
            values = text_values.ordinary(float, text_values.IN_NUMBERS, texts)
            values = array("f", values).tolist() if is_short else values
            if not has_infinity and not math.isfinite(sum(values)):
                raise ValueError("there may be a number that is too large")
            return values

        return CsvForm(read=read, write=text_of(type_info), at_once=at_once, may_be_quoted=False)

    def decimal(self, type_info: BasicTypeInfo | DecimalTypeInfo) -> CsvForm:
        is_any = isinstance(type_info, BasicTypeInfo)
        return CsvForm(
            read=self._rules.decimal(type_info),
            write=lambda value: text_values.decimal_text(Decimal(value)),
            at_once=text_values.read_decimals if is_any else None,
            may_be_quoted=False,
        )

    def instant(self) -> CsvForm:
        text = text_of(Types.INSTANT())
        return CsvForm(read=self._rules.instant, write=lambda value: text(value).replace("T", " "))

    def date(self) -> CsvForm:
        return CsvForm(read=self._rules.date, write=text_values.date_text, at_once=self._rules.dates)

    def time(self) -> CsvForm:
        return CsvForm(read=self._rules.time, write=text_values.whole_seconds)

    def timestamp(self) -> CsvForm:
        text = text_of(Types.SQL_TIMESTAMP())
        return CsvForm(
            read=self._rules.timestamp,
            write=lambda value: text(text_values.zoneless(value)),
            at_once=self._rules.timestamps,
        )

    interval = always(CsvForm(read=text_values.read_interval, write=text_values.interval_text))

    def null(self) -> CsvForm:
        raise NoForm

    binary = always(CsvForm(read=text_values.read_bytes, write=text_values.bytes_text))

    def pickled(self) -> CsvForm:
        raise NoForm

    # --- types that hold types

    def sequence(self, type_info: SequenceTypeInfo, element: CsvForm) -> CsvForm:
        self._check_nested([element])
        delimiter, null = self._delimiter, self._null or ""
        read, write = self._rows.nullable(element.read, self._null), element.write
        return CsvForm(
            read=lambda text: list(map(read, text.split(delimiter) if delimiter else [text])) if text else [],
            write=lambda value: self._joined([null if each is None else write(each) for each in value]),
            may_be_null=False,
            is_single=False,
        )

    def mapping(self, type_info: MapTypeInfo, key: CsvForm, value: CsvForm) -> CsvForm:
        raise NoForm

    def tuple(self, type_info: TupleTypeInfo, fields: Sequence[CsvForm]) -> CsvForm:
        raise NoForm

    def row(self, type_info: RowTypeInfo, fields: Sequence[CsvForm]) -> CsvForm:
        self._check_nested(fields)
        names, delimiter, null, rows = type_info.field_names, self._delimiter, self._null or "", self._rows
        readers = [rows.nullable(own.read, self._null) for own in fields]

        def read(text: str) -> Row | None:
            if not text:
                return None
            values = rows.fitted(text.split(delimiter), len(names))
            return make_row([of(each) for of, each in zip(readers, values, strict=True)], names)

        def write(value: Any) -> str:
            values = values_in_order(value, names)
            return self._joined(
                [null if each is None else own.write(each) for own, each in zip(fields, values, strict=True)]
            )

        return CsvForm(read=read, write=write, is_single=False)

    def _check_nested(self, inner: Sequence[CsvForm]) -> None:
        """Raise NoForm unless values of these forms can be within a field."""
        if not self._rules.has_nested or not all(form.is_single for form in inner):
            raise NoForm

    def _joined(self, texts: list[str]) -> str:
        delimiter = self._delimiter
        joined = delimiter.join(texts)
        if len(texts) > 1 and (not delimiter or joined.count(delimiter) != len(texts) - 1):
            raise ValueError(f"{joined!r:.100} cannot be divided by {delimiter!r} again; choose another delimiter")
        return joined


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("it is not text")
    return value
