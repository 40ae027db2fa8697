"""Functions of URLs."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.code_points import bytes_of, column_of_bytes, replaced_bytes
from headgate.columns.functions.encodings import decoded
from headgate.columns.functions.text_calls import text_function
from headgate.columns.logical_types import STRING

_STAYS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-*_"
_CODES: Final = [
    bytes([code]) if code in _STAYS else b"+" if code == ord(" ") else b"%%%02X" % code for code in range(256)
]
_WIDTHS: Final = np.array([len(code) for code in _CODES])
_ENCODED: Final = np.frombuffer(b"".join(code.ljust(3) for code in _CODES), np.uint8).reshape(256, 3)


def _encoded(value: pa.Array) -> pa.Array:
    return replaced_bytes(value, _ENCODED, _WIDTHS)


_DIGIT: Final = np.full(256, 16, np.uint8)
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _DIGIT[np.frombuffer(_digits, np.uint8)] = np.arange(16)


def _decoded(value: pa.Array) -> pa.Array:
    """NULL for a `%` that no code follows."""
    data, ends = bytes_of(value)
    places = np.flatnonzero(data == ord("%"))
    rows = np.searchsorted(ends, places, "right") - 1
    has_two = places + 2 < ends[rows + 1]
    high, low = (_DIGIT[data[np.minimum(places + at, len(data) - 1)]] for at in (1, 2))
    right = has_two & (high < 16) & (low < 16)
    made = np.where(data == ord("+"), np.uint8(ord(" ")), data)
    made[places[right]] = high[right] << 4 | low[right]
    stays = np.ones(len(data), bool)
    stays[places[right] + 1] = stays[places[right] + 2] = False
    kept = np.concatenate([[0], np.cumsum(stays)])
    found = decoded(column_of_bytes(made[stays], kept[ends], value, pa.binary()), "UTF-8")
    wrong = np.zeros(len(value), bool)
    wrong[rows[~right]] = True
    return pc.if_else(pa.array(wrong), None, found) if wrong.any() else found


text_function("url_encode", takes="text", compute=_encoded, result=STRING, nullable=True)
text_function("url_decode", takes="text", compute=_decoded, result=STRING, nullable=True)

_START: Final = r"(?is)^(?:url:)?(?P<protocol>https?|ftp|file):"
_END: Final = r"(?:\?(?P<query>[^#]*))?(?:#(?P<ref>.*))?$"
_WITH_AUTHORITY: Final = (
    rf"{_START}//(?P<authority>(?:(?P<userinfo>[^@/?#]*)@)?(?P<host>\[[^\]/?#]*\]|[^:@/?#\[\]]*)(?::[0-9]*)?)"
    rf"(?P<path>(?:/[^?#]*)?){_END}"
)
_WITHOUT: Final = rf"{_START}(?P<authority>)(?P<userinfo>)(?P<host>)(?P<path>////[^?#]*|/?(?:[^/?#][^?#]*)?){_END}"
_HAS: Final = {
    "QUERY": r"^[^#]*\?",
    "REF": "#",
    "AUTHORITY": r"(?i)^(?:url:)?[a-z]+://(?:/?$|/?[^/])",
    "USERINFO": r"(?i)^(?:url:)?[a-z]+://[^/?#]*@",
}
"""What a URL has that has the part: others have NULL, not an empty text."""
_BLANK: Final = "".join(map(chr, range(33)))


def _part(value: pa.Array, part: str, key: str | None = None) -> pa.Array:
    """NULL for a text that is no URL, a part that there is not, and a key with another part than QUERY."""
    if part not in ("HOST", "PATH", "PROTOCOL", "FILE", *_HAS) or (key is not None and part != "QUERY"):
        return pa.nulls(len(value), pa.string())
    value = pc.utf8_trim(value, characters=_BLANK)
    if part == "FILE":
        query = pc.binary_join_element_wise("?", _found(value, "query"), "")
        has_query = pc.match_substring_regex(value, pattern=_HAS["QUERY"])
        return pc.binary_join_element_wise(_found(value, "path"), pc.if_else(has_query, query, ""), "")
    found = _found(value, part.lower())
    if part == "PROTOCOL":
        return pc.ascii_lower(found)
    if part in _HAS:
        found = pc.if_else(pc.match_substring_regex(value, pattern=_HAS[part]), found, None)
    if key is None:
        return found
    quoted = "".join(f"\\x{{{ord(own):x}}}" for own in key)
    return pc.struct_field(pc.extract_regex(found, pattern=rf"(?:&|^){quoted}=(?P<found>[^&]*)"), "found")


def _found(value: pa.Array, name: str) -> pa.Array:
    """Return a part; NULL for a text that is no URL."""
    with_authority = pc.match_substring_regex(value, pattern=_HAS["AUTHORITY"])
    found = pc.struct_field(pc.extract_regex(value, pattern=_WITH_AUTHORITY), name)
    if pc.all(with_authority).as_py():
        return found
    without = pc.struct_field(pc.extract_regex(value, pattern=_WITHOUT), name)
    return pc.if_else(with_authority, found, without)


text_function("parse_url", takes="text text text", least=2, compute=_part, result=STRING, nullable=True)
