"""Keys as bytes of a store that sorts by bytes, and the same key objects back.

The bytes are the key's canonical bytes (docs/key-hash.md), so keys that are equal are one: `1`, `1.0` and `True`. Which
of them the user gave first is not in these bytes. For an int, str, bytes, a float with a fraction, and tuples of them,
the bytes give back the object itself. Any other key (True, 1.0, a Decimal, a date, a member of an Enum, a namedtuple)
is stored beside its value as well, pickled: `original` says so. So the usual keys are never pickled, nor stored twice.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any, Final

from headgate.state.formats.codecs import Load, pickled
from headgate.types.keys import canonical_bytes

_DOUBLE: Final = struct.Struct(">d")


def encode_key(key: Any) -> bytes:
    """Return the canonical bytes. Raises SerializationError for a key that has none."""
    # The first two as `canonical_bytes` writes them, without its many questions: this is done for each key of a batch.
    if type(key) is int:
        return b"i" + key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True)
    if type(key) is str:
        return b"s" + key.encode("utf-8", "surrogatepass")
    return canonical_bytes(key)


def encode_map_key(key: Any) -> bytes:
    """Return the bytes of a key within a map state, which may be None. Raises SerializationError as `encode_key`."""
    return b"n" if key is None else encode_key(key)


def original(key: Any) -> bytes | None:
    """Return what must be stored beside the bytes to get this very key back: its pickle, or None for nothing.

    >>> original(1), original(("a", 2.5, None)), original(True)
    (None, None, b'\\x80\\x05\\x88.')
    """
    return None if _is_plain(key) else pickled(key)


def decode_key(data: bytes, stored_original: bytes | None, load: Load = pickle.loads) -> Any:
    """Return the key that was given to `encode_key` or `encode_map_key` and to `original`.

    >>> decode_key(encode_key(True), original(True)), decode_key(encode_key(("a", 1)), None)
    (True, ('a', 1))
    """
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


_DECODERS: Final[dict[int, Callable[[bytes], Any]]] = {
    ord("i"): lambda data: int.from_bytes(data[1:], "big", signed=True),
    ord("s"): lambda data: data[1:].decode("utf-8", "surrogatepass"),
    ord("b"): lambda data: data[1:],
    ord("f"): lambda data: _DOUBLE.unpack_from(data, 1)[0],
    ord("n"): lambda data: None,
    ord("t"): _tuple,
}
