"""Seals: small documents in storage that cannot be taken for whole when they are torn or changed.

A sealed document is JSON, then a line `sha256 <64 hexadecimal digits>` over it. Two kinds of trouble are told apart.
*Torn*: neither the last line nor the JSON before it is whole, as a write that was cut short leaves it: the document
never existed. *Damaged*: it was whole once and has changed since.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from headgate.errors import DamagedFileError

_SEAL: Final = re.compile(rb"\nsha256 [0-9a-f]{64}\n")
_SEAL_BYTES: Final = 73


def seal(document: Mapping[str, object]) -> bytes:
    """Return the document, sealed.

    >>> seal({"a": 1})[:10]
    b'{\\n "a": 1\\n'
    """
    body = json.dumps(document, indent=1).encode()
    return body + _seal_of(body)


def unseal(data: bytes, where: str) -> dict[str, Any]:
    """Return the document. Raises DamagedFileError naming `where` when it is torn or has changed."""
    body = data[:-_SEAL_BYTES]
    if len(data) < _SEAL_BYTES or data[-_SEAL_BYTES:] != _seal_of(body):
        raise DamagedFileError(f"{where} is torn or has changed since it was written: its checksum does not match")
    document: dict[str, Any] = json.loads(body)
    return document


def is_torn(data: bytes) -> bool:
    """Return whether this is only the beginning of a sealed document: its write never came to an end."""
    return _SEAL.search(data) is None and not _is_json(data[:-_SEAL_BYTES])


def _seal_of(body: bytes) -> bytes:
    return f"\nsha256 {hashlib.sha256(body).hexdigest()}\n".encode()


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True
