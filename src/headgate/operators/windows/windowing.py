"""Windowing: what a program says of windows, as it travels to the slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.elements import MAX_TIMESTAMP
from headgate.functions.windows.assigner import MergingWindowAssigner, WindowAssigner
from headgate.functions.windows.trigger import Trigger
from headgate.functions.windows.triggers import EventTimeTrigger
from headgate.functions.windows.window import Window
from headgate.types.output_tag import OutputTag


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Windowing:
    """Which windows records belong to, when those are evaluated, and how long they wait for late records.

    Late records go to `late_tag`; without one they are dropped, and counted.
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    lateness_ms: int = 0
    late_tag: OutputTag | None = None

    @property
    def merges(self) -> bool:
        """Whether windows may become one."""
        return isinstance(self.assigner, MergingWindowAssigner)

    @property
    def has_default_trigger(self) -> bool:
        """Whether the trigger is the default one of event time itself: a subclass may fire at other times."""
        return type(self.trigger) is EventTimeTrigger

    def cleanup_ms(self, window: Window) -> int:
        """Return the time when all of a window goes; `MAX_TIMESTAMP` is never.

        That is the end of the window, and with event time the allowed lateness after it (Flink's `WindowOperator`).
        """
        last_ms = window.max_timestamp()
        return min(last_ms + self.lateness_ms, MAX_TIMESTAMP) if self.assigner.is_event_time() else last_ms
