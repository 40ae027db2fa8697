"""Columns: converts values of a type for an Arrow column of that type, and back.

A column either restores a value exactly, or it *notes* the value. The column then shows as much of the value as it can,
often nothing, and the writer stores the value elsewhere. So a column never refuses a value, and never changes one
silently. This matters because Python checks no types: a list of Types.LONG() may hold anything.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final, TypeAlias, final

import pyarrow as pa

from headgate.types.fold import BITS, SequenceTypeInfo, TypeFold, always
from headgate.types.instant import Instant, instant_of
from headgate.types.row import Row, RowKind, make_row
from headgate.types.sql_types import DecimalTypeInfo
from headgate.types.typeinfo import BasicTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation

Note: TypeAlias = Callable[[], Any]
"""Called if the column cannot hold a value exactly. Returns None."""

_INT64: Final = range(-(2**63), 2**63)
_DIGITS_MAX: Final = 38
_SCALE: Final = 18
_EXACT: Final = Context(prec=2 * _DIGITS_MAX)
_INTEGERS: Final = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


@final
@dataclass(frozen=True, slots=True)
class ColumnCodec:
    """An Arrow type, with one function that converts a Python value for Arrow and one that converts it back.

    None maps to null.
    """

    arrow: pa.DataType
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


Codec: TypeAlias = Callable[[Note], ColumnCodec]


def column_codec(type_info: TypeInformation, note: Note) -> ColumnCodec:
    """Return the codec of a type. A pickled type has a column of bytes that are all null.

    >>> from headgate.types.typeinfo import Types
    >>> codec = column_codec(Types.TUPLE([Types.LONG(), Types.STRING()]), print)
    >>> codec.encode((7, "a")), codec.decode({"f0": 7, "f1": "a"})
    ({'f0': 7, 'f1': 'a'}, (7, 'a'))
    """
    return _COLUMNS.of(type_info)(note)


def _unless_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda stored: None if stored is None else convert(stored)


def _same(value: Any) -> Any:
    return value


def _exact(kind: type, arrow: pa.DataType) -> Codec:
    def codec(note: Note) -> ColumnCodec:
        def encode(value: Any) -> Any:
            return value if type(value) is kind or value is None else note()

        return ColumnCodec(arrow, encode, _same)

    return codec


def _hidden(note: Note) -> ColumnCodec:
    """Return the codec of a type whose values no column shows."""
    return ColumnCodec(pa.binary(), lambda value: None if value is None else note(), _same)


# --- basic types


def _integer(bits: int | None) -> Codec:
    if bits is None:
        bound = 10**_DIGITS_MAX
        return _whole(range(1 - bound, bound), pa.decimal128(_DIGITS_MAX, 0), _unless_none(int))
    return _whole(range(-(2 ** (bits - 1)), 2 ** (bits - 1)), _INTEGERS[bits], _same)


def _whole(fitting: range, arrow: pa.DataType, decode: Callable[[Any], Any]) -> Codec:
    def codec(note: Note) -> ColumnCodec:
        def encode(value: Any) -> Any:
            if (type(value) is int and value in fitting) or value is None:
                return value
            return note()

        return ColumnCodec(arrow, encode, decode)

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


def _decimal(precision: int, scale: int) -> Codec:
    """Return the codec of decimals.

    It is exact for `scale` digits; with another number of digits, a value is shown and noted.
    """
    bound = Decimal(10) ** (precision - scale)

    def codec(note: Note) -> ColumnCodec:
        def encode(value: Any) -> Any:
            if value is None:
                return None
            if type(value) is not Decimal or not value.is_finite() or not -bound < value < bound:
                return note()
            exponent = value.as_tuple().exponent
            if exponent != -scale or (value.is_zero() and value.is_signed()):
                note()
            assert isinstance(exponent, int)
            return value if exponent >= -scale else _rounded(value, bound, scale)

        return ColumnCodec(pa.decimal128(precision, scale), encode, _same)

    return codec


def _rounded(value: Decimal, bound: Decimal, scale: int) -> Decimal | None:
    try:
        rounded = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    except InvalidOperation:
        return None
    return rounded if -bound < rounded < bound else None


def _instant(note: Note) -> ColumnCodec:
    first = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
    shown = range(instant_of(first).seconds, instant_of(first.replace(year=9999)).seconds)

    def encode(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not Instant or value.seconds not in shown:
            return note()
        if value.nanos % 1000 or not 0 <= value.nanos < 1_000_000_000:
            note()
        return value.seconds * 1_000_000 + value.nanos // 1000

    return ColumnCodec(pa.timestamp("us", tz="UTC"), encode, _unless_none(instant_of))


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
    """Return the codec of times of the day, as microseconds: some versions of Spark have no type for them."""

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


def _interval(note: Note) -> ColumnCodec:
    micro = dt.timedelta(microseconds=1)

    def encode(value: Any) -> Any:
        if value is None:
            return None
        return value if type(value) is dt.timedelta and value // micro in _INT64 else note()

    return ColumnCodec(pa.duration("us"), encode, _same)


# --- containers


def _list(element: ColumnCodec, note: Note) -> ColumnCodec:
    """Return the codec of lists with elements of the codec `element`."""
    encode_element, decode_element = element.encode, element.decode

    def encode(value: Any) -> Any:
        if type(value) is list:
            return list(map(encode_element, value))
        return None if value is None else note()

    if decode_element is _same:
        return ColumnCodec(pa.list_(element.arrow), encode, _same)
    return ColumnCodec(pa.list_(element.arrow), encode, _unless_none(lambda stored: list(map(decode_element, stored))))


def _map(key: ColumnCodec, value: ColumnCodec, note: Note) -> ColumnCodec:
    """Return the codec of dicts. If the column cannot hold a key, it omits and notes the entry."""
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
    """Return the codec of rows. Rows get the names of the type, but no names if the type has only default names."""
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


# --- all types


class _Columns(TypeFold[Codec]):
    """The codecs of all types."""

    string = always(_string)
    boolean = always(_exact(bool, pa.bool_()))

    def integer(self, type_info: BasicTypeInfo) -> Codec:
        return _integer(BITS[type_info.basic_type])

    floating = always(_float)  # 64 bits for FLOAT, too: Python's floats have 64 bits, so 32 would not be exact

    def decimal(self, type_info: BasicTypeInfo | DecimalTypeInfo) -> Codec:
        if isinstance(type_info, BasicTypeInfo):
            return _decimal(_DIGITS_MAX, _SCALE)
        return _decimal(type_info.precision, type_info.scale)

    instant = always(_instant)
    date = always(_exact(dt.date, pa.date32()))
    time = always(_time)
    timestamp = always(_timestamp)
    interval = always(_interval)
    null = always(_hidden)
    binary = always(_exact(bytes, pa.binary()))
    pickled = always(_hidden)

    def sequence(self, type_info: SequenceTypeInfo, element: Codec) -> Codec:
        return lambda note: _list(element(note), note)

    def mapping(self, type_info: MapTypeInfo, key: Codec, value: Codec) -> Codec:
        return lambda note: _map(key(note), value(note), note)

    def tuple(self, type_info: TupleTypeInfo, fields: Sequence[Codec]) -> Codec:
        return (lambda note: _tuple([field(note) for field in fields], note)) if fields else _hidden

    def row(self, type_info: RowTypeInfo, fields: Sequence[Codec]) -> Codec:
        names = type_info.field_names
        return (lambda note: _row(names, [field(note) for field in fields], note)) if fields else _hidden


_COLUMNS: Final = _Columns()
