"""Lines of CSV as rows of a type, and back: which fields there are, also within fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from headgate.connectors.formats.csv_dialect import CsvDialect
from headgate.connectors.formats.csv_values import AT_ONCE, Read, Write, is_quoted, single_value
from headgate.types.records import columns_of, values_in_order
from headgate.types.row import Row, make_row, make_rows
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    RowTypeInfo,
    TypeInformation,
)

FAILURES: Final = (ValueError, ArithmeticError)
"""What is raised for a field that does not fit."""
_ARRAYS: Final = (BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRows:
    """Reads and writes the rows of a type. `ignore_errors`: a field that does not fit, or is not there, is None.

    `array_delimiters` has those of fields that have one of their own; an empty one divides nothing.
    """

    types: RowTypeInfo
    dialect: CsvDialect
    ignore_errors: bool = False
    array_delimiters: Mapping[str, str] = field(default_factory=dict)

    def reader(self) -> Callable[[list[list[str]]], list[Row]]:
        """Return what makes rows of the fields of lines, column by column; it raises ValueError naming a wrong field.

        Raises ProgramError naming the field whose type CSV does not have.
        """
        names = self.types.field_names
        width = len(names)
        columns = [self._column_reader(kind, name) for name, kind in self._fields()]

        def read(lines: list[list[str]]) -> list[Row]:
            fitted = (
                lines if all(len(line) == width for line in lines) else [self._fitted(line, width) for line in lines]
            )
            if not fitted:
                return []
            made = [column(values) for column, values in zip(columns, zip(*fitted, strict=True), strict=True)]
            return make_rows(zip(*made, strict=True), names)

        return read

    def _fields(self) -> list[tuple[str, TypeInformation]]:
        return list(zip(self.types.field_names, self.types.field_types, strict=True))

    def _column_reader(self, kind: TypeInformation, name: str) -> Callable[[Sequence[Any]], list[Any]]:
        null = None if isinstance(kind, _ARRAYS) else self.dialect.null_literal
        each = self._nullable(self._field_reader(kind, name), name, null)
        at_once = AT_ONCE.get(kind)
        if at_once is None or null is not None or self.ignore_errors:
            return lambda values: list(map(each, values))

        def read(values: Sequence[str]) -> list[Any]:
            try:
                return at_once(values)
            except ValueError:
                return list(map(each, values))

        return read

    def _nullable(self, read: Read, name: str, null: str | None) -> Callable[[str | None], Any]:
        ignores = self.ignore_errors

        def each(text: str | None) -> Any:
            if text is None or text == null:
                return None
            try:
                return read(text)
            except FAILURES as error:
                if ignores:
                    return None
                raise ValueError(f"field {name!r}: {error}") from error

        return each

    def _field_reader(self, kind: TypeInformation, name: str) -> Read:
        delimiter, null = self.array_delimiters.get(name, self.dialect.array_delimiter), self.dialect.null_literal
        match kind:
            case BasicArrayTypeInfo() | ObjectArrayTypeInfo() | ListTypeInfo():
                element = self._nullable(single_value(kind.element_type, name)[0], name, null)
                return lambda text: list(map(element, text.split(delimiter) if delimiter else [text])) if text else []
            case RowTypeInfo():
                return self._row_reader(kind, name)
        return single_value(kind, name)[0]

    def _row_reader(self, kind: RowTypeInfo, name: str) -> Read:
        names, delimiter, null = kind.field_names, self.dialect.array_delimiter, self.dialect.null_literal
        fields = [self._nullable(single_value(each, name)[0], name, null) for each in kind.field_types]

        def read(text: str) -> Row | None:
            if not text:
                return None
            values = self._fitted(text.split(delimiter), len(names))
            return make_row([field(each) for field, each in zip(fields, values, strict=True)], names)

        return read

    def _fitted(self, fields: list[str], width: int) -> list[str | None]:
        """Return as many fields as there are columns. Raises ValueError where they are others and errors count."""
        if len(fields) != width and not self.ignore_errors:
            raise ValueError(f"it has {len(fields)} fields instead of {width}")
        return [*fields, *[None] * (width - len(fields))][:width]

    def writer(self) -> Callable[[list[Any]], list[str]]:
        """Return what makes lines of records, without their ends; it raises for one that does not fit.

        Raises ProgramError naming the field whose type CSV does not have.
        """
        names, delimiter = self.types.field_names, self.dialect.delimiter
        columns = [self._column_writer(kind, name) for name, kind in self._fields()]

        def write(records: list[Any]) -> list[str]:
            made = [column(values) for column, values in zip(columns, columns_of(records, names), strict=True)]
            return list(map(delimiter.join, zip(*made, strict=True)))

        return write

    def _column_writer(self, kind: TypeInformation, name: str) -> Callable[[list[Any]], list[str]]:
        write, null = self._field_writer(kind, name), self.dialect.null_literal or ""
        if not is_quoted(kind):
            return lambda values: [null if value is None else write(value) for value in values]
        quoted = self.dialect.quoter()
        return lambda values: [null if value is None else quoted(write(value)) for value in values]

    def _field_writer(self, kind: TypeInformation, name: str) -> Write:
        delimiter = self.array_delimiters.get(name, self.dialect.array_delimiter)
        null = self.dialect.null_literal or ""
        match kind:
            case BasicArrayTypeInfo() | ObjectArrayTypeInfo() | ListTypeInfo():
                element = single_value(kind.element_type, name)[1]
                return lambda value: delimiter.join([null if each is None else element(each) for each in value])
            case RowTypeInfo():
                names = kind.field_names
                fields = [single_value(each, name)[1] for each in kind.field_types]
                return lambda value: delimiter.join(
                    null if each is None else field(each)
                    for field, each in zip(fields, values_in_order(value, names), strict=True)
                )
        return single_value(kind, name)[1]
