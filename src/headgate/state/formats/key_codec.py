"""Keys as bytes of a store that sorts by bytes, and the same key objects back.

The bytes of a key of a cell are its identity (docs/reference/key-hash.md), those of a key within a map state its
canonical bytes, where `1`, `1.0` and `True` are one. Which of several that are one the user gave first is not in
these bytes. Of an int, str, bytes, None, a bool, float or Decimal that is a whole key, a float with a fraction, and
tuples of these, the bytes give back the object itself. Any other key (a list, a date, a member of an Enum, a
namedtuple, True in a tuple) is stored beside its value as well, pickled: `original` says so. So the usual keys are
never pickled, nor stored twice.
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
    """Return the bytes of a key as it is looked up. Raises SerializationError for a key that has none."""
    # The first two as `canonical_bytes` writes them, without its many questions: this is done for each key of a batch.
    if type(key) is int:
        return b"i" + key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True)
    if type(key) is str:
        return b"s" + key.encode("utf-8", "surrogatepass")
    return key_bytes(key)


def encode_map_key(key: Any) -> bytes:
    """Return the bytes of a key within a map state. Raises SerializationError for a key that has none."""
    return encode_key(key) if type(key) is int or type(key) is str else canonical_bytes(key)


def original(key: Any) -> bytes | None:
    """Return what must be stored beside the bytes to get this very key back: its pickle, or None for nothing.

    >>> original(1), original(("a", 2.5, None)), original(True), original(typed(True))
    (None, None, b'\\x80\\x05\\x88.', None)
    """
    if type(key) is TypedKey:
        return None if type(key.value) in _SINGLE else pickled(key.value)
    return None if _is_plain(key) else pickled(key)


def decode_key(data: bytes, stored_original: bytes | None, load: Load = pickle.loads) -> Any:
    """Return the key, as it is looked up, that was given to `encode_key` and to `original`.

    >>> decode_key(encode_key(typed(1.0)), None), decode_key(encode_key(("a", 1)), None)
    (1.0, ('a', 1))
    """
    return typed(decode_map_key(data, stored_original, load))


def decode_map_key(data: bytes, stored_original: bytes | None, load: Load = pickle.loads) -> Any:
    """Return the key that was given to `encode_map_key` and to `original`."""
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
"""The classes of whole keys that their bytes give back."""

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
