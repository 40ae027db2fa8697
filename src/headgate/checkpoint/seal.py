"""Sealed documents: small JSON files with a checksum, so that a torn or changed file never counts as whole.

A sealed document is JSON, then the line `sha256 <64 hexadecimal digits>` over it. There are two faults. *Torn*: neither
the last line nor the JSON before it is whole, because the write was interrupted: the document never existed. *Damaged*:
the document was whole once and has changed since.
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
    """Return the bytes of the sealed document.

    >>> seal({"a": 1})[:10]
    b'{\\n "a": 1\\n'
    """
    body = json.dumps(document, indent=1).encode()
    return body + _seal_of(body)


def unseal(data: bytes, where: str) -> dict[str, Any]:
    """Return the document in `data`. Raises DamagedFileError naming `where` when it is torn or has changed."""
    body = data[:-_SEAL_BYTES]
    if len(data) < _SEAL_BYTES or data[-_SEAL_BYTES:] != _seal_of(body):
        raise DamagedFileError(f"{where} is torn or has changed since it was written: its checksum does not match")
    document: dict[str, Any] = json.loads(body)
    return document


def is_torn(data: bytes) -> bool:
    """Return whether the data is only the beginning of a sealed document, because its write was interrupted."""
    return _SEAL.search(data) is None and not _is_json(data[:-_SEAL_BYTES])


def _seal_of(body: bytes) -> bytes:
    return f"\nsha256 {hashlib.sha256(body).hexdigest()}\n".encode()


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True
