"""Columns: values of a type as what an Arrow column of that type takes, and back.

What goes into a column comes out as it was, or is *noted*: the column then shows as much of the value as it can, often
nothing, and whoever writes it keeps the value elsewhere. So a column never refuses a value, and never bends one
unnoticed: Python checks no types, and a list of Types.LONG() may hold anything.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias, final

import pyarrow as pa

from headgate.types.instant import Instant
from headgate.types.row import Row, RowKind, make_row
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

Note: TypeAlias = Callable[[], Any]
"""Called when what a column will hold is not exactly the value; returns None."""

_INT64: Final = range(-(2**63), 2**63)
_DIGITS_MAX: Final = 38
_SCALE: Final = 18
_BYTES: Final = Types.PRIMITIVE_ARRAY(Types.BYTE())


@final
@dataclass(frozen=True, slots=True)
class ColumnCodec:
    """An Arrow type with a function that makes what it takes, and one that makes the value of what it gives.

    None is null, and null is None.
    """

    arrow: pa.DataType
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def column_codec(type_info: TypeInformation, note: Note) -> ColumnCodec:
    """Return the codec of a type. Of what is to be pickled it shows nothing: a column of bytes that are all null.

    >>> codec = column_codec(Types.TUPLE([Types.LONG(), Types.STRING()]), print)
    >>> codec.encode((7, "a")), codec.decode({"f0": 7, "f1": "a"})
    ({'f0': 7, 'f1': 'a'}, (7, 'a'))
    """
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC[type_info.basic_type](note)
    if type_info == _BYTES:
        return _exactly(bytes, pa.binary(), note)
    if isinstance(type_info, DateTypeInfo):
        return _exactly(dt.date, pa.date32(), note)
    if isinstance(type_info, TimestampTypeInfo):
        return _timestamp(note)
    if isinstance(type_info, TimeTypeInfo):
        return _time(note)
    if isinstance(type_info, (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo)):
        return _list(column_codec(type_info.element_type, note), note)
    if isinstance(type_info, MapTypeInfo):
        key = column_codec(type_info.key_type_info, note)
        return _map(key, column_codec(type_info.value_type_info, note), note)
    if isinstance(type_info, TupleTypeInfo) and type_info.field_types:
        return _tuple(_fields(type_info.field_types, note), note)
    if isinstance(type_info, RowTypeInfo) and type_info.field_types:
        return _row(type_info.field_names, _fields(type_info.field_types, note), note)
    return ColumnCodec(pa.binary(), lambda value: None if value is None else note(), _same)


def _fields(types: Sequence[TypeInformation], note: Note) -> list[ColumnCodec]:
    return [column_codec(field, note) for field in types]


def _unless_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda stored: None if stored is None else convert(stored)


def _same(value: Any) -> Any:
    return value


def _exactly(kind: type, arrow: pa.DataType, note: Note) -> ColumnCodec:
    def encode(value: Any) -> Any:
        if type(value) is kind or value is None:
            return value
        return note()

    return ColumnCodec(arrow, encode, _same)


# --- basic types


def _integer(arrow: pa.DataType, bits: int) -> Callable[[Note], ColumnCodec]:
    fitting = range(-(2 ** (bits - 1)), 2 ** (bits - 1))

    def codec(note: Note) -> ColumnCodec:
        def encode(value: Any) -> Any:
            if (type(value) is int and value in fitting) or value is None:
                return value
            return note()

        return ColumnCodec(arrow, encode, _same)

    return codec


def _float(note: Note) -> ColumnCodec:
    def encode(value: Any) -> Any:
        if type(value) is float or value is None:
            return value
        note()
        return float(value) if type(value) is int and value in _INT64 else None

    return ColumnCodec(pa.float64(), encode, _same)


def _string(note: Note) -> ColumnCodec:
    def encode(value: Any) -> Any:
        if type(value) is str:
            return value if value.isascii() or _is_text(value) else note()
        return None if value is None else note()

    return ColumnCodec(pa.string(), encode, _same)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _big_integer(note: Note) -> ColumnCodec:
    bound = 10**_DIGITS_MAX

    def encode(value: Any) -> Any:
        if (type(value) is int and -bound < value < bound) or value is None:
            return value
        return note()

    return ColumnCodec(pa.decimal128(_DIGITS_MAX, 0), encode, _unless_none(int))


def _big_decimal(note: Note) -> ColumnCodec:
    """The codec of decimals: of a column's own number of digits they are exact, of another they are shown and noted."""
    bound = Decimal(10) ** (_DIGITS_MAX - _SCALE)

    def encode(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not Decimal or not value.is_finite() or not -bound < value < bound:
            return note()
        exponent = value.as_tuple().exponent
        if exponent != -_SCALE or (value.is_zero() and value.is_signed()):
            note()
        assert isinstance(exponent, int)
        return value if exponent >= -_SCALE else _rounded(value)

    return ColumnCodec(pa.decimal128(_DIGITS_MAX, _SCALE), encode, _same)


def _rounded(value: Decimal) -> Decimal | None:
    try:
        return value.quantize(Decimal(1).scaleb(-_SCALE))
    except InvalidOperation:
        return None


def _instant(note: Note) -> ColumnCodec:
    first = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    shown = range((first - epoch) // dt.timedelta(seconds=1), (first.replace(year=9999) - epoch).days * 86_400)

    def encode(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not Instant or value.seconds not in shown:
            return note()
        if value.nanos % 1000 or not 0 <= value.nanos < 1_000_000_000:
            note()
        return value.seconds * 1_000_000 + value.nanos // 1000

    def decode(stored: Any) -> Any:
        if stored is None:
            return None
        seconds, micros = divmod((stored - epoch) // dt.timedelta(microseconds=1), 1_000_000)
        return Instant(seconds, micros * 1000)

    return ColumnCodec(pa.timestamp("us", tz="UTC"), encode, decode)


_BASIC: Final[dict[BasicType, Callable[[Note], ColumnCodec]]] = {
    BasicType.STRING: _string,
    BasicType.CHAR: _string,
    BasicType.BOOLEAN: lambda note: _exactly(bool, pa.bool_(), note),
    BasicType.BYTE: _integer(pa.int8(), 8),
    BasicType.SHORT: _integer(pa.int16(), 16),
    BasicType.INT: _integer(pa.int32(), 32),
    BasicType.LONG: _integer(pa.int64(), 64),
    # 32 bits would not be exact: Python's floats have 64.
    BasicType.FLOAT: _float,
    BasicType.DOUBLE: _float,
    BasicType.BIG_INT: _big_integer,
    BasicType.BIG_DEC: _big_decimal,
    BasicType.INSTANT: _instant,
}


# --- dates and times


def _timestamp(note: Note) -> ColumnCodec:
    def encode(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not dt.datetime or value.tzinfo is not None:
            return note()
        if value.fold:
            note()
        return value

    return ColumnCodec(pa.timestamp("us"), encode, _same)


def _time(note: Note) -> ColumnCodec:
    """The codec of times of the day: microseconds, for not every Spark knows a type for them."""

    def encode(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not dt.time or value.tzinfo is not None:
            return note()
        if value.fold:
            note()
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond

    def decode(stored: Any) -> Any:
        return None if stored is None else (dt.datetime.min + dt.timedelta(microseconds=stored)).time()

    return ColumnCodec(pa.int64(), encode, decode)


# --- containers


def _list(element: ColumnCodec, note: Note) -> ColumnCodec:
    """Return the codec of lists of what `element` is the codec of."""
    encode_element, decode_element = element.encode, element.decode

    def encode(value: Any) -> Any:
        if type(value) is list:
            return list(map(encode_element, value))
        return None if value is None else note()

    if decode_element is _same:
        return ColumnCodec(pa.list_(element.arrow), encode, _same)
    return ColumnCodec(pa.list_(element.arrow), encode, _unless_none(lambda stored: list(map(decode_element, stored))))


def _map(key: ColumnCodec, value: ColumnCodec, note: Note) -> ColumnCodec:
    """Return the codec of dicts. An entry whose key the column cannot have is left out, and noted."""
    encode_key, encode_value = key.encode, value.encode
    decode_key, decode_value = key.decode, value.decode

    def encode(entries: Any) -> Any:
        if type(entries) is not dict:
            return None if entries is None else note()
        shown = []
        for key, value in entries.items():
            encoded = encode_key(key)
            if encoded is None:
                note()
            else:
                shown.append((encoded, encode_value(value)))
        return shown

    def decode(stored: Any) -> Any:
        return None if stored is None else {decode_key(key): decode_value(value) for key, value in stored}

    return ColumnCodec(pa.map_(key.arrow, value.arrow), encode, decode)


def _struct(names: Sequence[str], fields: Sequence[ColumnCodec]) -> pa.DataType:
    return pa.struct([pa.field(name, field.arrow) for name, field in zip(names, fields, strict=True)])


def _tuple(fields: list[ColumnCodec], note: Note) -> ColumnCodec:
    names = [f"f{place}" for place in range(len(fields))]
    encoders = [field.encode for field in fields]
    decoders = [field.decode for field in fields]

    def encode(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not tuple:
            note()
        if not isinstance(value, tuple) or len(value) != len(names):
            return note()
        return {name: encode(item) for name, encode, item in zip(names, encoders, value, strict=True)}

    def decode(stored: Any) -> Any:
        if stored is None:
            return None
        return tuple([decode(stored[name]) for name, decode in zip(names, decoders, strict=True)])

    return ColumnCodec(_struct(names, fields), encode, decode)


def _row(names: tuple[str, ...], fields: list[ColumnCodec], note: Note) -> ColumnCodec:
    """The codec of rows. Rows have the type's names, but those of a type without names of its own have none."""
    own_names = None if names == tuple(f"f{place}" for place in range(len(names))) else names
    encoders = [field.encode for field in fields]
    decoders = [field.decode for field in fields]

    def encode(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, Row):
            return note()
        values: Sequence[Any] = value._values
        if value._fields != own_names or value._row_kind is not RowKind.INSERT:
            note()
            if value._fields is not None and value._fields != names:
                if len(value._fields) != len(values) or set(value._fields) != set(names):
                    return None
                values = value.get_fields_by_names(names)
        if len(values) != len(names):
            return note()
        return {name: encode(item) for name, encode, item in zip(names, encoders, values, strict=True)}

    def decode(stored: Any) -> Any:
        if stored is None:
            return None
        return make_row([decode(stored[name]) for name, decode in zip(names, decoders, strict=True)], own_names)

    return ColumnCodec(_struct(names, fields), encode, decode)
