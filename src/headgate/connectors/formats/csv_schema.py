"""The columns of CSV files, and how they are written: what Flink takes from Jackson's `CsvSchema`."""

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
    """A column: which kind Jackson calls it, and what is between the elements of its arrays, "" for the schema's."""

    name: str
    kind: str
    type_info: TypeInformation
    array_separator: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvSchema:
    """The columns of a CSV file. Make one with `CsvSchema.builder()`.

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
        """Return the type of the rows. Raises ValueError when two columns have one name."""
        return RowTypeInfo([column.type_info for column in self.columns], [column.name for column in self.columns])

    def rows(self) -> CsvRows:
        """Return what reads and writes the rows. Raises ProgramError for a column whose type CSV does not have."""
        own = {column.name: column.array_separator for column in self.columns if column.array_separator}
        return CsvRows(types=self.row_type(), dialect=self.dialect, array_delimiters=own)

    def size(self) -> int:
        """Return how many columns there are."""
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
    """Builds a `CsvSchema`: its columns in their order, and how files are written."""

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
        """Add a column of lists, of texts if no type is given."""
        kind = Types.LIST(_checked(element_type or Types.STRING()))
        return self._add(CsvColumn(name, "ARRAY", kind, separator))

    def add_boolean_column(self, name: str) -> Self:
        """Add a column of booleans."""
        return self._add(CsvColumn(name, "BOOLEAN", Types.BOOLEAN()))

    def add_number_column(self, name: str, number_type: TypeInformation | None = None) -> Self:
        """Add a column of numbers, `Types.LONG()` if no type is given."""
        return self._add(CsvColumn(name, "NUMBER", _checked(number_type or Types.LONG())))

    def add_string_column(self, name: str) -> Self:
        """Add a column of texts."""
        return self._add(CsvColumn(name, "STRING", Types.STRING()))

    def add_columns_from(self, schema: CsvSchema) -> Self:
        """Add the columns of another schema."""
        return self._add(*schema.columns)

    def clear_columns(self) -> Self:
        """Remove all columns."""
        return self._set(columns=())

    def set_allow_comments(self, allow: bool = True) -> Self:
        """Leave out lines that begin with "#"."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> Self:
        """Allow more fields in a line than there are columns; they are left out."""
        return self._set(any_property=name)

    def disable_array_element_separator(self) -> Self:
        """Take the field of an array whose column has no separator for its one element."""
        return self._set_dialect(array_delimiter="")

    def remove_array_element_separator(self, index: int) -> Self:
        """Have a column use the separator of the schema."""
        columns = list(self._schema.columns)
        columns[index] = replace(columns[index], array_separator="")
        return self._set(columns=tuple(columns))

    def set_array_element_separator(self, separator: str) -> Self:
        """Set the separator of array columns that have none of their own, ";" by default."""
        return self._set_dialect(array_delimiter=separator)

    def set_column_separator(self, char: str) -> Self:
        """Set what is between columns, "," by default."""
        return self._set_dialect(delimiter=single(char, "the column separator"))

    def disable_escape_char(self) -> Self:
        """Have no escape character, as by default."""
        return self._set_dialect(escape=None)

    def set_escape_char(self, char: str) -> Self:
        """Set what stands before a character that means itself."""
        return self._set_dialect(escape=single(char, "the escape character"))

    def set_line_separator(self, separator: str) -> Self:
        """Set what ends the lines that are written; those that are read end with a newline, or CR and a newline."""
        return self._set(line_separator=separator)

    def set_null_value(self, null_value: str) -> Self:
        """Set which field is None. By default none that is read, and an empty one where None is written."""
        return self._set_dialect(null_literal=null_value)

    def disable_quote_char(self) -> Self:
        """Have nothing in quotes."""
        return self._set_dialect(quote=None)

    def set_quote_char(self, char: str) -> Self:
        """Set what is around fields that may hold separators, '"' by default."""
        return self._set_dialect(quote=single(char, "the quote"))

    def set_skip_first_data_row(self, skip: bool = True) -> Self:
        """Leave out the first line, after the header if there is one."""
        return self._set(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> Self:
        """Fail for a file whose header does not name the columns, in their order."""
        return self._set(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> Self:
        """Take the first line of each file for a header, and write one."""
        return self._set(use_header=use)

    def size(self) -> int:
        """Return how many columns there are."""
        return self._schema.size()

    def __len__(self) -> int:
        return self.size()


def _checked(kind: object) -> TypeInformation:
    if not isinstance(kind, TypeInformation):
        raise ProgramError(
            f"a column of CSV must have a type such as Types.INT() or DataTypes.INT(), not {kind!r:.100}"
        )
    return kind
