"""The columns to read from Parquet files, and the check that all files have the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import pyarrow as pa

from headgate.connectors.files.places import Place
from headgate.errors import ProgramError, SourceError
from headgate.types.arrow import type_of_arrow
from headgate.types.typeinfo import RowTypeInfo


@final
@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read (None: all of them) and their required types (None: any)."""

    names: tuple[str, ...] | None
    types: RowTypeInfo | None

    @staticmethod
    def of(columns: Sequence[str] | RowTypeInfo | None) -> Columns:
        """Return the columns with these names, or of a row type. Raises ProgramError for no name or a repeated one."""
        if isinstance(columns, RowTypeInfo):
            return Columns(columns.field_names, columns)
        if columns is None:
            return Columns(None, None)
        names = tuple(columns)
        if isinstance(columns, str) or not names or len(set(names)) < len(names):
            raise ProgramError(f"columns must be a list of at least one name, each only once; got {columns!r}")
        return Columns(names, None)

    def of_file(self, place: Place, schema: pa.Schema) -> pa.Schema:
        """Return the columns that are read of a file.

        Raises `SourceError` naming file and column if a column is missing, occurs twice, or has the wrong type.
        """
        chosen = pa.schema([_column(place, schema, name) for name in self.names or schema.names])
        if self.types is not None:
            for field, wanted in zip(chosen, self.types.field_types, strict=True):
                found = type_of_arrow(field.type, field.name)
                if found != wanted:
                    raise SourceError(
                        f"{str(place)!r}: column {field.name!r} is {field.type}, a {found}, and not a {wanted}; "
                        "declare the column with the file's type, and convert it in a map()"
                    )
        return chosen


def _column(place: Place, schema: pa.Schema, name: str) -> pa.Field:
    places = schema.get_all_field_indices(name)
    if len(places) != 1:
        there = "two columns" if places else "no column"
        raise SourceError(f"{str(place)!r} has {there} {name!r}; it has {', '.join(map(repr, schema.names))}")
    return schema.field(places[0])


def check_same(place: Place, schema: pa.Schema, first: Place, expected: pa.Schema) -> None:
    """Raise `SourceError` naming file and column unless two files have the same columns of the same types."""
    if schema.equals(expected):  # nearly always; comparing names and types one by one is slow for many files
        return
    trouble = _difference(schema, expected)
    if trouble:
        raise SourceError(
            f"{str(place)!r}: {trouble} in {str(first)!r}; choose columns that are the same in all files, or read "
            "files with different columns by separate sources"
        )


def _difference(schema: pa.Schema, expected: pa.Schema) -> str:
    for name in expected.names:
        if name not in schema.names:
            return f"there is no column {name!r}, as there is"
        found, wanted = schema.field(name).type, expected.field(name).type
        if found != wanted:
            return f"column {name!r} is {found}, but {wanted}"
    added = [name for name in schema.names if name not in expected.names]
    if added:
        return f"there is a column {added[0]!r}, which is not"
    return "" if schema.names == expected.names else "the columns have another order than"
