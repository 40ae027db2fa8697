"""The last events that a state machine handled, which its error tells when a rule is broken."""

from __future__ import annotations

from collections import deque
from typing import final

from headgate.errors import InternalError


@final
class EventHistory:
    """Remembers the last few events of one machine.

    >>> history = EventHistory("aligner")
    >>> history.add("barrier 1 on channel 0")
    >>> print(history.broken("barrier on a blocked channel"))
    aligner: barrier on a blocked channel. This should never happen: please report it. Last events, oldest first:
      barrier 1 on channel 0
    """

    __slots__ = ("_events", "_machine")

    def __init__(self, machine: str, length: int = 20) -> None:
        self._machine = machine
        self._events: deque[object] = deque(maxlen=length)

    def add(self, event: object) -> None:
        """Remember `event`; the oldest is forgotten when there are more than `length`."""
        self._events.append(event)

    def broken(self, rule: str) -> InternalError:
        """Return the error that names the broken rule and tells the last events."""
        told = "".join(f"\n  {event}" for event in self._events)
        return InternalError(
            f"{self._machine}: {rule}. This should never happen: please report it. Last events, oldest first:{told}"
        )
