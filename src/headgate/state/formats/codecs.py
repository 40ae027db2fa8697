"""Codecs: encode values of a declared type as bytes and decode them, for values that are stored one by one.

Every codec restores exactly the value that it encoded, even if the value is not of the declared type: the type only
determines which values are fast. A value is encoded in one of these ways:

- int within 64 bits: `i`, 8 bytes, little-endian
- float: `f`, IEEE 754 double, little-endian; the sign of -0.0 and the bits of a NaN are kept
- str: `s`, UTF-8 (with lone surrogates: pickled)
- bytes: `b`, the bytes
- bool: `T`, `F`
- Row of kind INSERT: its values, pickled, then `r` if it has the declared names, `p` if it has no names
- tuple of the declared length with rows in some fields: pickled as a list with values instead of rows, then for each of
  these fields `r`, `p`, or `.` for another value, then `t`
- any other value: pickle, protocol 5, which begins with 0x80 and ends in `.`

Types that differ only in width (INT and LONG, FLOAT and DOUBLE) share a codec, so widened state needs no rewriting.

The reasons, in nanoseconds for encode + decode of one value (CPython 3.11, one core of a shared machine). The
call itself takes 27 of these nanoseconds. The codecs check types and tags; the other two columns are plain calls:

=====================  ===========  ===========  =============
value                  codec        marshal 4    pickle 5
=====================  ===========  ===========  =============
int                    71 + 70      71 + 45      152 + 92
float                  63 + 72      63 + 46      149 + 95
str of 5               72 + 86      64 + 69      155 + 107
bool                   32 + 34      51 + 35      154 + 89
(int, str)             227 + 154    92 + 94      180 + 129
10 ints in a list      281 + 289    214 + 185    244 + 265
Row of 3               424 + 430                 1251 + 1048
(int, Row of 3)        776 + 620
int, where not LONG    235 + 161
=====================  ===========  ===========  =============

With type checks, marshal is no faster (it silently turns bytearrays and NumPy scalars into bytes), and its format
differs between Python versions. So scalars use struct and UTF-8, and collections are pickled, which needs no check of
their items. Only Row is too slow to pickle whole.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from headgate.errors import SerializationError
from headgate.state.formats.schema import StateMeta, item_type
from headgate.types.row import Row, RowKind, make_row
from headgate.types.typeinfo import BasicType, BasicTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation, Types

Load: TypeAlias = Callable[[bytes], Any]
"""Unpickles bytes. `unpickle.loader` returns such a function that knows moved classes."""

_dumps: Final = pickle.dumps


@final
@dataclass(frozen=True, slots=True)
class Codec:
    """A pair of functions. `encode` raises SerializationError for a value that cannot be pickled.

    `decode` raises the errors of its `Load`. An encoded value has at least one byte, except where `codec_for_columns`
    says otherwise.
    """

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    scalar: bytes = b""
    """The first byte of every value that is encoded without a pickle; empty if they do not share one."""


def codec_for(type_info: TypeInformation, load: Load = pickle.loads) -> Codec:
    """Return the codec of a type.

    >>> codec = codec_for(Types.LONG())
    >>> codec.encode(1), codec.decode(codec.encode(1)), codec.decode(codec.encode("no number"))
    (b'i\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00', 1, 'no number')
    """
    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _BASIC:
        return _BASIC[type_info.basic_type](load)
    if type_info == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return _bytes_codec(load)
    if isinstance(type_info, RowTypeInfo):
        return _row_codec(type_info.field_names, load)
    if isinstance(type_info, TupleTypeInfo) and any(isinstance(place, RowTypeInfo) for place in type_info.field_types):
        return _tuple_codec(type_info.field_types, load)
    return Codec(pickled, load)


def codec_for_columns(types: Sequence[TypeInformation], load: Load = pickle.loads) -> Codec:
    """Return the codec of a tuple with a value of each type, or None. A single None is encoded as no bytes.

    >>> codec = codec_for_columns([Types.LONG(), Types.STRING()])
    >>> codec.decode(codec.encode((7, None)))
    (7, None)
    """
    if len(types) == 1:
        return _optional_codec(codec_for(types[0], load))
    return codec_for(Types.TUPLE(types), load)


def codec_for_items(meta: StateMeta, load: Load = pickle.loads) -> Codec:
    """Return the codec of the values that a state stores one by one, in their stored form."""
    return codec_for(stored_type(meta), load)


def stored_type(meta: StateMeta) -> TypeInformation:
    """Return the type of values stored one by one: `item_type`, with a time to live a pair of time and `item_type`."""
    return Types.TUPLE([Types.LONG(), item_type(meta)]) if meta.ttl else item_type(meta)


def pickled(value: Any) -> bytes:
    """Return the pickle of a value. Raises SerializationError that names the value's type."""
    try:
        return _dumps(value, 5)
    except Exception as error:
        raise SerializationError(
            f"a {type(value).__name__} cannot be pickled: {error}; keep plain data in state, and classes that a module "
            "or the main script defines at top level"
        ) from error


# --- a pair of functions for each encoding: check the type, use the fast encoding, else pickle

_INSERT: Final = RowKind.INSERT
_INT: Final = struct.Struct("<cq")
_FLOAT: Final = struct.Struct("<cd")


def _int_codec(load: Load) -> Codec:
    pack, unpack = _INT.pack, _INT.unpack

    def encode(value: Any) -> bytes:
        if type(value) is int:
            try:
                return pack(b"i", value)
            except struct.error:
                return pickled(value)
        return pickled(value)

    def decode(data: bytes) -> Any:
        if data[0] == 0x69:
            return unpack(data)[1]
        return load(data)

    return Codec(encode, decode, b"i")


def _float_codec(load: Load) -> Codec:
    pack, unpack = _FLOAT.pack, _FLOAT.unpack

    def encode(value: Any) -> bytes:
        return pack(b"f", value) if type(value) is float else pickled(value)

    def decode(data: bytes) -> Any:
        if data[0] == 0x66:
            return unpack(data)[1]
        return load(data)

    return Codec(encode, decode, b"f")


def _str_codec(load: Load) -> Codec:
    def encode(value: Any) -> bytes:
        if type(value) is str:
            try:
                return b"s" + value.encode()
            except UnicodeEncodeError:
                return pickled(value)
        return pickled(value)

    def decode(data: bytes) -> Any:
        if data[0] == 0x73:
            return data[1:].decode()
        return load(data)

    return Codec(encode, decode, b"s")


def _bytes_codec(load: Load) -> Codec:
    def encode(value: Any) -> bytes:
        return b"b" + value if type(value) is bytes else pickled(value)

    def decode(data: bytes) -> Any:
        if data[0] == 0x62:
            return data[1:]
        return load(data)

    return Codec(encode, decode, b"b")


def _bool_codec(load: Load) -> Codec:
    def encode(value: Any) -> bytes:
        if value is True:
            return b"T"
        return b"F" if value is False else pickled(value)

    def decode(data: bytes) -> Any:
        if data == b"T":
            return True
        return False if data == b"F" else load(data)

    return Codec(encode, decode)


_BASIC: Final[dict[BasicType, Callable[[Load], Codec]]] = {
    **dict.fromkeys((BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT), _int_codec),
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), _float_codec),
    **dict.fromkeys((BasicType.STRING, BasicType.CHAR), _str_codec),
    BasicType.BOOLEAN: _bool_codec,
}


def _row_codec(names: tuple[str, ...], load: Load) -> Codec:
    def encode(value: Any) -> bytes:
        if isinstance(value, Row) and value._row_kind is _INSERT:
            fields = value._fields
            if fields == names or fields is None:
                try:
                    return _dumps(value._values, 5) + (b"p" if fields is None else b"r")
                except Exception:  # noqa: BLE001  # a user's class may raise anything; `pickled` reports it
                    return pickled(value)
        return pickled(value)

    def decode(data: bytes) -> Any:
        tag = data[-1]
        if tag == 0x72:
            return make_row(load(data), names)
        if tag == 0x70:
            return make_row(load(data), None)
        return load(data)

    return Codec(encode, decode)


def _tuple_codec(types: Sequence[TypeInformation], load: Load) -> Codec:
    """Return the codec of a tuple with rows in it. Rows nested deeper are pickled whole."""
    size = len(types)
    names = [(place, kind.field_names) for place, kind in enumerate(types) if isinstance(kind, RowTypeInfo)]
    tagged = [(place, fields, number - len(names) - 1) for number, (place, fields) in enumerate(names)]

    def encode(value: Any) -> bytes:
        if type(value) is not tuple or len(value) != size:
            return pickled(value)
        items = list(value)
        tags = b""
        for place, fields, _ in tagged:
            row = items[place]
            if isinstance(row, Row) and row._row_kind is _INSERT and row._fields in (fields, None):
                items[place] = row._values
                tags += b"p" if row._fields is None else b"r"
            else:
                tags += b"."
        return pickled(items) + tags + b"t"

    def decode(data: bytes) -> Any:
        items = load(data)
        if data[-1] == 0x74:
            for place, fields, at in tagged:
                tag = data[at]
                if tag != 0x2E:
                    items[place] = make_row(items[place], fields if tag == 0x72 else None)
            return tuple(items)
        return items

    return Codec(encode, decode)


def _optional_codec(codec: Codec) -> Codec:
    """Return the codec of a single column, which encodes None as no bytes."""
    inner_encode, inner_decode = codec.encode, codec.decode

    def encode(value: tuple[Any]) -> bytes:
        return b"" if value[0] is None else inner_encode(value[0])

    def decode(data: bytes) -> Any:
        return (inner_decode(data),) if data else (None,)

    return Codec(encode, decode)
