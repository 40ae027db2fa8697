"""Limits librdkafka's messages in Python's log: without brokers, a client logs about twenty errors a second."""

from __future__ import annotations

import logging
import re
from typing import Final, final

_PAUSE_S: Final = 10.0
_KINDS_MAX: Final = 1000
_DETAILS: Final = re.compile(r"\([^)]*\)")
"""Details in brackets, such as the age of a connection: they differ each time."""


@final
class Seldom(logging.Filter):
    """Lets the same error through once in ten seconds, over all clients of the process.

    librdkafka's records have three arguments: the kind of event, the name of the client, a text.
    """

    def __init__(self) -> None:
        super().__init__()
        self._due_s: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not isinstance(record.args, tuple) or len(record.args) != 3:
            return True
        event, _, text = map(str, record.args)
        kind = (event, _DETAILS.sub("", text))
        if record.created < self._due_s.get(kind, 0.0):
            return False
        if len(self._due_s) >= _KINDS_MAX:
            self._due_s.clear()
        self._due_s[kind] = record.created + _PAUSE_S
        return True
