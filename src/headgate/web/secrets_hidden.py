"""What is shown of configuration: no values of keys that name a secret, as in Flink, and no credentials in others."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "******"
TEXT_MAX: Final = 2_000
_OF_FLINK: Final = (
    *("password", "secret", "fs.azure.account.key", "apikey", "api-key", "auth-params", "service-key", "token"),
    *("basic-auth", "jaas.config", "http-headers"),
)
_OTHERS: Final = (
    *("passwd", "pwd", "passphrase", "credential", "private-key", "access-key", "authorization", "signature"),
)
_NAME: Final = "|".join(re.escape(name).replace(r"\-", "[-_.]?") for name in (*_OF_FLINK, *_OTHERS))
_KEY: Final = re.compile(_NAME, re.IGNORECASE)
_URL: Final = re.compile(r"://\S*")
_VALUE: Final = r"""(?:(?:basic|bearer)\s+)?(?:"(?:[^"\\]|\\.)*["\\]?|'(?:[^'\\]|\\.)*['\\]?|\[[^\]]*\]?|[^\s&;,]+)"""
_SIGNED: Final = "(?<=[?&])sig(?==)"  # the signature of a link to Azure's storage
_GIVEN: Final = re.compile(
    rf"""((?:(?:{_NAME}|{_SIGNED})[\w.-]{{0,100}}["']?\s*[=:]\s*)+){_VALUE}""", re.IGNORECASE | re.DOTALL
)
"""A secret that is named inside a value: in the query of a URL, in JSON, among properties."""


def shown(key: str, value: str) -> str:
    """Return the value of a key as people may see it, cut to 2,000 characters.

    >>> shown("db.password", "x"), shown("db.url", "jdbc:postgresql://ann:x@db/shop?password=x&ssl=on")
    ('******', 'jdbc:postgresql://******@db/shop?password=******&ssl=on')
    """
    if _KEY.search(key):
        return HIDDEN
    return _GIVEN.sub(rf"\1{HIDDEN}", _URL.sub(_without_user, value))[:TEXT_MAX]


def _without_user(url: re.Match[str]) -> str:
    """Look for the last @: a password may have a slash or an @ in it, and too much is hidden rather than too little."""
    _, at, place = url[0].rpartition("@")
    return f"://{HIDDEN}@{place}" if at else url[0]
