"""Values of JSON: read from texts, and written, as Flink does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.code_points import bytes_of, column_of_bytes, replaced_bytes, rows_of_bytes
from headgate.columns.nodes import Call, Node


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)


def parsed(text: str) -> Any:
    """Return the value of a JSON text, with numbers as int and Decimal. Raises ValueError if it is none."""
    return _DECODER.decode(text)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_KEPT = [_ESCAPES.get(chr(code), f"\\u{code:04X}") if code < 32 else chr(code) for code in range(128)]
_KEPT[ord('"')], _KEPT[ord("\\")] = '\\"', "\\\\"
_ESCAPED = {code: own for code, own in enumerate(_KEPT) if own != chr(code)}


def written(value: Any) -> str:
    """Return a value as JSON text, with the keys of objects in order.

    >>> written({"b": [1, None, True], "a": Decimal("1.50")})
    '{"a":1.50,"b":[1,null,true]}'
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _in_quotes(value)
        case dict():
            inner = (f"{_in_quotes(key)}:{written(value[key])}" for key in sorted(value))
            return "{" + ",".join(inner) + "}"
        case list():
            return "[" + ",".join(map(written, value)) + "]"
        case float():
            return written_float(value)
    return str(value)


def _in_quotes(text: str) -> str:
    return f'"{text.translate(_ESCAPED)}"'


def written_float(value: float) -> str:
    """Return a DOUBLE as Java writes it.

    >>> written_float(1e7), written_float(0.001), written_float(1.5e-4), written_float(100.0)
    ('1.0E7', '0.001', '1.5E-4', '100.0')
    """
    if value != value or value in (float("inf"), float("-inf")):
        return '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        plain = repr(value)
        return plain if "e" not in plain else f"{value:f}"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    return f"{'-' * sign}{text[0]}.{text[1:] or '0'}E{exponent + len(digits) - 1}"


def without_halves(text: str) -> str:
    """Return the text with `?` for halves of pairs of UTF-16, which JSON may have and texts of SQL may not."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_QUOTED = np.frombuffer(
    b"".join(_ESCAPES.get(chr(code), chr(code)).encode().ljust(6) for code in range(128)), np.uint8
).reshape(128, 6)
_WIDTHS = np.array([len(_ESCAPES.get(chr(code), " ")) for code in range(128)])
_HEXADECIMAL = np.frombuffer(b"0123456789abcdef", np.uint8)


def quoted(value: pa.Array) -> pa.Array:
    """Return texts as JSON texts, in quotes. All but ASCII becomes `\\u` and codes of UTF-16, as in Flink."""
    data, ends = bytes_of(value)
    units = np.frombuffer(data.tobytes().decode().encode("utf-16-le"), np.uint16)
    # A code point has one unit for its first byte, and a second one if it has four bytes.
    before = np.concatenate([[0], np.cumsum(((data & 0xC0) != 0x80).astype(np.int64) + (data >= 0xF0))])[ends]
    is_ascii = units < 128
    rows = _QUOTED[np.where(is_ascii, units, 0)]
    rows[~is_ascii, :2] = np.frombuffer(b"\\u", np.uint8)
    for place in range(4):
        rows[~is_ascii, 2 + place] = _HEXADECIMAL[(units[~is_ascii] >> (12 - 4 * place)) & 15]
    widths = np.where(is_ascii, _WIDTHS[np.where(is_ascii, units, 0)], 6)
    places = np.concatenate([[0], np.cumsum(widths)])[before]
    return _between_quotes(column_of_bytes(rows_of_bytes(rows, widths), places, value, pa.string()))


_KEPT_BYTES = [*(own.encode() for own in _KEPT), *(bytes([code]) for code in range(128, 256))]
_KEPT_ROWS = np.frombuffer(b"".join(own.ljust(6) for own in _KEPT_BYTES), np.uint8).reshape(256, 6)
_KEPT_WIDTHS = np.array([len(own) for own in _KEPT_BYTES])


def in_quotes(value: pa.Array) -> pa.Array:
    """Return texts as JSON texts, in quotes. All but control characters, quotes and backslashes stays."""
    data, _ = bytes_of(value)
    if not len(data) or (data.min() >= ord(" ") and not (data == ord('"')).any() and not (data == ord("\\")).any()):
        return _between_quotes(value)
    return _between_quotes(replaced_bytes(value, _KEPT_ROWS, _KEPT_WIDTHS))


def _between_quotes(value: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', value, '"', "")


def json_construction(name: str, on_null: str, values: Sequence[Node]) -> Call:
    """Return a call of json_object or json_array. Values that are such calls are put in as JSON, not as texts."""
    is_json_text = tuple(isinstance(own, Call) and own.function in ("json_object", "json_array") for own in values)
    return Call(name, tuple(values), (on_null, is_json_text))
