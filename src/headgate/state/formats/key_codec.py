"""Keys as bytes for a store that sorts by bytes, and the same key objects from these bytes.

The bytes of the key of a cell are its identity (docs/reference/key-hash.md). The bytes of a key in a map state are its
canonical bytes, where `1`, `1.0` and `True` are one key. These bytes do not tell which of several equal objects the
user gave first.

The bytes alone restore these objects: a whole key that is an int, str, bytes, None, bool, float or Decimal; a float
with a fraction; and tuples of these. Any other key (a list, a date, an Enum member, a namedtuple, True in a tuple) is
also stored as a pickle beside its value; `original` returns the pickle. So common keys are never pickled or stored
twice.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from headgate.state.formats.codecs import Load, pickled
from headgate.types.keys import canonical_bytes
from headgate.types.typed_key import TypedKey, key_bytes, typed

_DOUBLE: Final = struct.Struct(">d")


def encode_key(key: Any) -> bytes:
    """Return the bytes of a key as lookups use it. Raises SerializationError for a key that has no bytes."""
    # int and str as `canonical_bytes` writes them, without its many checks: this runs for each key of a batch.
    if type(key) is int:
        return b"i" + key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True)
    if type(key) is str:
        return b"s" + key.encode("utf-8", "surrogatepass")
    return key_bytes(key)


def encode_map_key(key: Any) -> bytes:
    """Return the bytes of a key in a map state. Raises SerializationError for a key that has no bytes."""
    return encode_key(key) if type(key) is int or type(key) is str else canonical_bytes(key)


def original(key: Any) -> bytes | None:
    """Return the pickle of a key if its bytes cannot restore the same object, else None.

    >>> original(1), original(("a", 2.5, None)), original(True), original(typed(True))
    (None, None, b'\\x80\\x05\\x88.', None)
    """
    if type(key) is TypedKey:
        return None if type(key.value) in _SINGLE else pickled(key.value)
    return None if _is_plain(key) else pickled(key)


def decode_key(data: bytes, stored_original: bytes | None, load: Load = pickle.loads) -> Any:
    """Return the key, as lookups use it, from the results of `encode_key` and `original`.

    >>> decode_key(encode_key(typed(1.0)), None), decode_key(encode_key(("a", 1)), None)
    (1.0, ('a', 1))
    """
    return typed(decode_map_key(data, stored_original, load))


def decode_map_key(data: bytes, stored_original: bytes | None, load: Load = pickle.loads) -> Any:
    """Return the key from the results of `encode_map_key` and `original`."""
    if stored_original is not None:
        return load(stored_original)
    return _DECODERS[data[0]](data)


def _is_plain(key: Any) -> bool:
    kind = type(key)
    if kind is int or kind is str or kind is bytes or key is None:
        return True
    if kind is float:
        return not key.is_integer()
    return kind is tuple and all(map(_is_plain, key))


def _tuple(data: bytes) -> tuple[Any, ...]:
    items = []
    at = 1
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        items.append(_DECODERS[data[at + 4]](data[at + 4 : end]))
        at = end
    return tuple(items)


_SINGLE: Final = frozenset({type(None), bool, float, Decimal})
"""The classes of whole keys that their bytes restore, besides int, str and bytes."""

_DECODERS: Final[dict[int, Callable[[bytes], Any]]] = {
    ord("i"): lambda data: int.from_bytes(data[1:], "big", signed=True),
    ord("s"): lambda data: data[1:].decode("utf-8", "surrogatepass"),
    ord("b"): lambda data: data[1:],
    ord("f"): lambda data: _DOUBLE.unpack_from(data, 1)[0],
    ord("F"): lambda data: _DOUBLE.unpack_from(data, 1)[0],
    ord("B"): lambda data: data == b"B1",
    ord("m"): lambda data: Decimal(data[1:].decode()),
    ord("n"): lambda data: None,
    ord("t"): _tuple,
}
