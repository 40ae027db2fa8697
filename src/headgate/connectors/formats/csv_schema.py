"""`CsvSchema`: the columns and the dialect of CSV files, as in Flink, which uses Jackson's `CsvSchema`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Self, final

from headgate.errors import ProgramError
from headgate.types.csv_dialect import CsvDialect, single
from headgate.types.csv_fields import CsvRows
from headgate.types.typeinfo import RowTypeInfo, TypeInformation, Types


@final
@dataclass(frozen=True, slots=True)
class CsvColumn:
    """A column with Jackson's kind. `array_separator` separates elements of arrays, "" for the schema's separator."""

    name: str
    kind: str
    type_info: TypeInformation
    array_separator: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvSchema:
    """The columns and the dialect of a CSV file. Make a schema with `CsvSchema.builder()`.

    >>> schema = CsvSchema.builder().add_number_column("id").add_string_column("name").set_use_header().build()
    >>> len(schema), schema.row_type()
    (2, RowTypeInfo(id: Long, name: String))
    """

    columns: tuple[CsvColumn, ...] = ()
    dialect: CsvDialect = field(default_factory=CsvDialect)
    line_separator: str = "\n"
    any_property: str | None = None
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False
    allow_comments: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Return a builder."""
        return CsvSchemaBuilder()

    def row_type(self) -> RowTypeInfo:
        """Return the type of the rows. Raises ValueError if two columns have the same name."""
        return RowTypeInfo([column.type_info for column in self.columns], [column.name for column in self.columns])

    def rows(self) -> CsvRows:
        """Return the reader and writer of the rows. Raises ProgramError for a column whose type CSV lacks."""
        own = {column.name: column.array_separator for column in self.columns if column.array_separator}
        return CsvRows(types=self.row_type(), dialect=self.dialect, array_delimiters=own)

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return self.size()

    def __str__(self) -> str:
        columns = ",".join(f'"{column.name}"/{column.kind}' for column in self.columns)
        switches = (
            ("header", self.use_header),
            ("skipFirst", self.skip_first_data_row),
            ("comments", self.allow_comments),
        )
        settings = ", ".join(f"{name}? {str(is_on).lower()}" for name, is_on in switches)
        rest = f'as "{self.any_property}"' if self.any_property is not None else "N/A"
        return f"[CsvSchema: columns=[{columns}], {settings}, any-properties? {rest}]"

    def __repr__(self) -> str:
        return str(self)


_SEPARATOR: Final = ";"


@final
class CsvSchemaBuilder:
    """Builds a `CsvSchema`: its columns in order, and its dialect."""

    def __init__(self) -> None:
        self._schema = CsvSchema()

    def build(self) -> CsvSchema:
        """Return the schema."""
        return self._schema

    def _add(self, *columns: CsvColumn) -> Self:
        return self._set(columns=(*self._schema.columns, *columns))

    def _set(self, **changes: object) -> Self:
        self._schema = replace(self._schema, **changes)  # type: ignore[arg-type]
        return self

    def _set_dialect(self, **changes: str | None) -> Self:
        return self._set(dialect=replace(self._schema.dialect, **changes))  # type: ignore[arg-type]

    def add_array_column(
        self, name: str, separator: str = _SEPARATOR, element_type: TypeInformation | None = None
    ) -> Self:
        """Add a column of lists. Elements are text by default."""
        kind = Types.LIST(_checked(element_type or Types.STRING()))
        return self._add(CsvColumn(name, "ARRAY", kind, separator))

    def add_boolean_column(self, name: str) -> Self:
        """Add a column of booleans."""
        return self._add(CsvColumn(name, "BOOLEAN", Types.BOOLEAN()))

    def add_number_column(self, name: str, number_type: TypeInformation | None = None) -> Self:
        """Add a column of numbers, by default of the type `Types.LONG()`."""
        return self._add(CsvColumn(name, "NUMBER", _checked(number_type or Types.LONG())))

    def add_string_column(self, name: str) -> Self:
        """Add a column of text."""
        return self._add(CsvColumn(name, "STRING", Types.STRING()))

    def add_columns_from(self, schema: CsvSchema) -> Self:
        """Add the columns of another schema."""
        return self._add(*schema.columns)

    def clear_columns(self) -> Self:
        """Remove all columns."""
        return self._set(columns=())

    def set_allow_comments(self, allow: bool = True) -> Self:
        """Ignore lines that begin with "#"."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> Self:
        """Allow lines with more fields than columns. The additional fields are dropped."""
        return self._set(any_property=name)

    def disable_array_element_separator(self) -> Self:
        """Remove the separator of the schema: a field of an array column without a separator is its only element."""
        return self._set_dialect(array_delimiter="")

    def remove_array_element_separator(self, index: int) -> Self:
        """Remove the separator of a column, which then uses the separator of the schema."""
        columns = list(self._schema.columns)
        columns[index] = replace(columns[index], array_separator="")
        return self._set(columns=tuple(columns))

    def set_array_element_separator(self, separator: str) -> Self:
        """Set the separator for array columns without a separator of their own, ";" by default."""
        return self._set_dialect(array_delimiter=separator)

    def set_column_separator(self, char: str) -> Self:
        """Set the separator between columns, "," by default."""
        return self._set_dialect(delimiter=single(char, "the column separator"))

    def disable_escape_char(self) -> Self:
        """Use no escape character. This is the default."""
        return self._set_dialect(escape=None)

    def set_escape_char(self, char: str) -> Self:
        """Set the escape character: the character after it is literal."""
        return self._set_dialect(escape=single(char, "the escape character"))

    def set_line_separator(self, separator: str) -> Self:
        """Set the end of written lines. Lines that are read end with LF or CR LF."""
        return self._set(line_separator=separator)

    def set_null_value(self, null_value: str) -> Self:
        """Set the text for None. By default no field is read as None, and None is written as an empty field."""
        return self._set_dialect(null_literal=null_value)

    def disable_quote_char(self) -> Self:
        """Use no quotes."""
        return self._set_dialect(quote=None)

    def set_quote_char(self, char: str) -> Self:
        """Set the quote around fields that may contain separators, '"' by default."""
        return self._set_dialect(quote=single(char, "the quote"))

    def set_skip_first_data_row(self, skip: bool = True) -> Self:
        """Skip the first line after the header."""
        return self._set(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> Self:
        """Fail for a file whose header does not name the columns in order."""
        return self._set(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> Self:
        """Read the first line of each file as a header, and write a header."""
        return self._set(use_header=use)

    def size(self) -> int:
        """Return the number of columns."""
        return self._schema.size()

    def __len__(self) -> int:
        return self.size()


def _checked(kind: object) -> TypeInformation:
    if not isinstance(kind, TypeInformation):
        raise ProgramError(
            f"a column of CSV must have a type such as Types.INT() or DataTypes.INT(), not {kind!r:.100}"
        )
    return kind
