"""Input data: converts the data that a user gives for a state to keys and values of the declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import pyarrow as pa

from headgate.errors import ProgramError
from headgate.savepoints.column_values import conversion
from headgate.state.canonical.layout import KEY, LAST_ACCESS, VALUE, pickle_of
from headgate.state.formats.unpickle import loader
from headgate.types.typeinfo import TypeInformation, Types

Given: TypeAlias = tuple[Any, Any, Any]
"""A key, its value, and the time or times of the last access, None if the data have no times."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InputColumns:
    """The columns of keys and values in a table, and their types. A type of None is derived from the column."""

    key: str
    value: str
    key_type: TypeInformation | None
    value_type: TypeInformation

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return the columns to read, of the columns of a table."""
        wanted = (self.key, pickle_of(self.key), self.value, pickle_of(self.value), LAST_ACCESS)
        for name in (self.key, self.value):
            _check_there(name, names)
        return [name for name in wanted if name in names]

    def check(self, schema: pa.Schema) -> None:
        """Raise `ProgramError` naming a column whose type does not fit."""
        next(self.pairs(schema, ()), None)

    def pairs(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[Given]:
        """Yield the rows of batches of this schema. Raises `ProgramError` naming a column that does not fit.

        A value in a column `<name>_pickle` replaces the value in `<name>`.
        """
        key = self._column(schema, self.key, self.key_type or Types.PICKLED_BYTE_ARRAY())
        value = self._column(schema, self.value, self.value_type)
        for batch in batches:
            times = batch.column(LAST_ACCESS).to_pylist() if LAST_ACCESS in schema.names else [None] * batch.num_rows
            yield from zip(key(batch), value(batch), times, strict=True)

    def _column(
        self, schema: pa.Schema, name: str, type_info: TypeInformation
    ) -> Callable[[pa.RecordBatch], Iterable[Any]]:
        _check_there(name, schema.names)
        convert = conversion(type_info, schema.field(name).type, name)
        if pickle_of(name) not in schema.names:
            return lambda batch: map(convert, batch.column(name).to_pylist())
        load = loader({}, f"column {pickle_of(name)!r}")

        def exact(batch: pa.RecordBatch) -> Iterator[Any]:
            columns = batch.column(name).to_pylist(), batch.column(pickle_of(name)).to_pylist()
            return (convert(shown) if kept is None else load(kept) for shown, kept in zip(*columns, strict=True))

        return exact


def _check_there(name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise ProgramError(f"the data have no column {name!r}; they have: {', '.join(names)}")


def given(data: Any, reading: InputColumns) -> Iterator[Given]:
    """Yield the entries of `data`: an Arrow table, another source of Arrow batches, a mapping, or pairs.

    Raises `ProgramError` for data of another kind, or for columns that do not fit.
    """
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return reading.pairs(reader.schema, reader)
    if isinstance(data, Mapping):
        return ((key, value, None) for key, value in data.items())
    if isinstance(data, Iterable):
        return map(_pair, data)
    raise ProgramError(
        f"a {type(data).__name__} cannot be the data of a state: give an Arrow table, a data frame of Spark or pandas, "
        "a dict, or pairs of key and value"
    )


def given_values(data: Any, value_type: TypeInformation) -> Iterator[Any]:
    """Yield the values in `data`: the column `value` of a table, or any values. Raises as `given`."""
    if hasattr(data, "__arrow_c_stream__"):
        table = pa.RecordBatchReader.from_stream(data).read_all()
        keyed = table if KEY in table.column_names else table.append_column(KEY, pa.nulls(len(table)))
        reading = InputColumns(key=KEY, value=VALUE, key_type=None, value_type=value_type)
        return (value for _, value, _ in given(keyed, reading))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        return iter(data)
    raise ProgramError(f"a {type(data).__name__} is not a list of elements")


def _pair(item: Any) -> Given:
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise ProgramError(f"the data of a state must be pairs of key and value, not {item!r}")
    return item[0], item[1], None
