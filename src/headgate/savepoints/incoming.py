"""Incoming data: what the user gives for a state, in whichever form, as keys and values of the declared types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias, final

import pyarrow as pa

from headgate.errors import ProgramError
from headgate.state.canonical.layout import KEY, LAST_ACCESS, VALUE, pickle_of
from headgate.state.formats.unpickle import loader
from headgate.types.instant import Instant
from headgate.types.row import make_row
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

Convert: TypeAlias = Callable[[Any], Any]
Given: TypeAlias = tuple[Any, Any, Any]
"""A key, its value, and the time or times of the last access, None when nothing is said of that."""

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_INTEGERS: Final = frozenset({BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG})
_TEXT: Final = frozenset({BasicType.STRING, BasicType.CHAR})
_FLOATS: Final = frozenset({BasicType.FLOAT, BasicType.DOUBLE})
_LISTS: Final = (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingReading:
    """Which columns of a table are keys and values, and their types; None for that of the column."""

    key: str
    value: str
    key_type: TypeInformation | None
    value_type: TypeInformation

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return those of the columns of a table that are read."""
        wanted = (self.key, pickle_of(self.key), self.value, pickle_of(self.value), LAST_ACCESS)
        for name in (self.key, self.value):
            _check_there(name, names)
        return [name for name in wanted if name in names]

    def check(self, schema: pa.Schema) -> None:
        """Raise `ProgramError`, naming the column, when columns of these types do not fit."""
        next(self.pairs(schema, ()), None)

    def pairs(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[Given]:
        """Yield the rows of batches of this schema. Raises `ProgramError` naming a column that does not fit.

        Where there is a column `<name>_pickle`, what is in there counts for more than what is in `<name>`.
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


def given(data: Any, reading: IncomingReading) -> Iterator[Given]:
    """Yield what is in `data`: an Arrow table or whatever else gives its batches, a mapping, or pairs of key and value.

    Raises `ProgramError` for data of another kind, or whose columns do not fit.
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
        reading = IncomingReading(key=KEY, value=VALUE, key_type=None, value_type=value_type)
        return (value for _, value, _ in given(keyed, reading))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        return iter(data)
    raise ProgramError(f"a {type(data).__name__} is not a list of elements")


def _pair(item: Any) -> Given:
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise ProgramError(f"the data of a state must be pairs of key and value, not {item!r}")
    return item[0], item[1], None


# --- from what Arrow gives to what a program has


def conversion(type_info: TypeInformation, arrow: pa.DataType, column: str) -> Convert:
    """Return what makes values of the type out of those that Arrow gives for a column.

    Raises `ProgramError` naming the column, when its values cannot be of the type.

    >>> conversion(Types.TUPLE([Types.LONG(), Types.STRING()]), pa.struct({"a": pa.int32(), "b": pa.string()}), "c")(
    ...     {"a": 1, "b": "x"}
    ... )
    (1, 'x')
    """
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    if isinstance(type_info, PickledBytesTypeInfo):
        observed = type_of_column(arrow)
        return _keep if isinstance(observed, PickledBytesTypeInfo) else conversion(observed, arrow, column)
    convert = _keep if pa.types.is_null(arrow) else _conversion(type_info, arrow, column)
    if convert is None:
        raise ProgramError(f"column {column!r} has the type {arrow}, but the state is declared as {type_info}: cast it")
    return convert if convert is _keep else _unless_none(convert)


def _conversion(type_info: TypeInformation, arrow: pa.DataType, column: str) -> Convert | None:
    kinds = pa.types
    match type_info:
        case BasicTypeInfo(basic):
            return _of_basic(basic, arrow)
        case DateTypeInfo():
            return _keep if kinds.is_date(arrow) else None
        case TimestampTypeInfo():
            return _datetime if kinds.is_timestamp(arrow) and arrow.tz is None else None
        case TimeTypeInfo():
            return _time_of_day if kinds.is_time(arrow) or kinds.is_int64(arrow) else None
        case PrimitiveArrayTypeInfo() if type_info.element_type == Types.BYTE():
            return _keep if _is_bytes(arrow) else None
        case MapTypeInfo() if kinds.is_map(arrow):
            key = conversion(type_info.key_type_info, arrow.key_type, column)
            value = conversion(type_info.value_type_info, arrow.item_type, column)
            return lambda pairs: {key(each): value(item) for each, item in pairs}
        case TupleTypeInfo() if kinds.is_struct(arrow) and arrow.num_fields == len(type_info.field_types):
            fields = _fields(type_info.field_types, list(arrow), column)
            return lambda items: tuple([convert(item) for convert, item in zip(fields, items.values(), strict=True)])
        case RowTypeInfo() if kinds.is_struct(arrow) and {field.name for field in arrow} == set(type_info.field_names):
            return _of_rows(type_info, arrow, column)
    if isinstance(type_info, _LISTS) and (kinds.is_list(arrow) or kinds.is_large_list(arrow)):
        element = conversion(type_info.element_type, arrow.value_type, column)
        return lambda items: list(map(element, items))
    return None


def _fields(types: Iterable[TypeInformation], fields: Iterable[pa.Field], column: str) -> list[Convert]:
    return [conversion(own, field.type, f"{column}.{field.name}") for own, field in zip(types, fields, strict=True)]


def _of_rows(type_info: RowTypeInfo, arrow: pa.DataType, column: str) -> Convert:
    names = type_info.field_names
    own = None if names == tuple(f"f{place}" for place in range(len(names))) else names
    fields = _fields(type_info.field_types, [arrow.field(name) for name in names], column)
    return lambda items: make_row([convert(items[name]) for name, convert in zip(names, fields, strict=True)], own)


def _of_basic(basic: BasicType, arrow: pa.DataType) -> Convert | None:
    kinds = pa.types
    if kinds.is_integer(arrow):
        if basic in _INTEGERS or basic is BasicType.BIG_INT:
            return _keep
        return float if basic in _FLOATS else Decimal if basic is BasicType.BIG_DEC else None
    if kinds.is_floating(arrow):
        return _keep if basic in _FLOATS else None
    if kinds.is_decimal(arrow):
        whole = basic is BasicType.BIG_INT and arrow.scale == 0
        return int if whole else _keep if basic is BasicType.BIG_DEC else None
    if kinds.is_boolean(arrow):
        return _keep if basic is BasicType.BOOLEAN else None
    if kinds.is_timestamp(arrow) and arrow.tz is not None:
        return _instant if basic is BasicType.INSTANT else None
    return _keep if basic in _TEXT and _is_text(arrow) else None


def type_of_column(arrow: pa.DataType) -> TypeInformation:
    """Return the type of what a column of this Arrow type gives a state that is declared without one of its own.

    Structs are tuples if their fields are f0, f1 and so on, else rows.
    """
    kinds = pa.types
    if kinds.is_list(arrow) or kinds.is_large_list(arrow):
        return Types.LIST(type_of_column(arrow.value_type))
    if kinds.is_map(arrow):
        return Types.MAP(type_of_column(arrow.key_type), type_of_column(arrow.item_type))
    if kinds.is_struct(arrow):
        names, types = [field.name for field in arrow], [type_of_column(field.type) for field in arrow]
        is_tuple = names == [f"f{place}" for place in range(len(names))]
        return Types.TUPLE(types) if is_tuple else Types.ROW_NAMED(names, types)
    return next((found for holds, found in _OBSERVED if holds(arrow)), Types.PICKLED_BYTE_ARRAY())


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow))


_OBSERVED: Final[list[tuple[Callable[[pa.DataType], bool], TypeInformation]]] = [
    (pa.types.is_integer, Types.BIG_INT()),
    (pa.types.is_floating, Types.DOUBLE()),
    (pa.types.is_boolean, Types.BOOLEAN()),
    (pa.types.is_decimal, Types.BIG_DEC()),
    (pa.types.is_date, Types.SQL_DATE()),
    (pa.types.is_time, Types.SQL_TIME()),
    (lambda arrow: pa.types.is_timestamp(arrow) and arrow.tz is None, Types.SQL_TIMESTAMP()),
    (pa.types.is_timestamp, Types.INSTANT()),
    (_is_text, Types.STRING()),
    (_is_bytes, Types.PRIMITIVE_ARRAY(Types.BYTE())),
]


def _keep(value: Any) -> Any:
    return value


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _datetime(value: dt.datetime) -> dt.datetime:
    """Return a plain datetime: of nanoseconds, Arrow gives those of pandas."""
    return dt.datetime.combine(value.date(), value.time())


def _time_of_day(value: dt.time | int) -> dt.time:
    return value if isinstance(value, dt.time) else (dt.datetime.min + dt.timedelta(microseconds=value)).time()


def _instant(value: dt.datetime) -> Instant:
    seconds, micros = divmod((value - _EPOCH) // dt.timedelta(microseconds=1), 1_000_000)
    return Instant(seconds, micros * 1000 + getattr(value, "nanosecond", 0))
