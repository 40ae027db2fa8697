"""What a subtask needs to know of its alignment strategy."""

from __future__ import annotations

from typing import Protocol

from headgate.checkpoint.alignment.events import AlignmentEffect, AlignmentEvent


class AlignmentStrategy(Protocol):
    """Decides on the barriers of one subtask. Pure; owned by the slot's loop."""

    @property
    def due_ms(self) -> float | None:
        """The wall clock time at which it wants to be told `TimePassed`, None: at none."""
        ...

    @property
    def blocked(self) -> frozenset[int]:
        """The channels that must not be read now."""
        ...

    def handle(self, event: AlignmentEvent) -> list[AlignmentEffect]:
        """Return what to do, in this order. Raises InternalError for an event that the protocol rules out."""
        ...

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        ...
