"""Faults of watermark alignment to plant."""

from __future__ import annotations

from typing import Final

import pytest

from headgate.functions.fetching import FetchingReader
from headgate.operators.source import SourceOperator
from headgate.runtime.master.watermark_aligner import WatermarkAligner
from tests.simulation.plants import Plant


def records_of_a_paused_split_are_emitted(patch: pytest.MonkeyPatch) -> None:
    """A reader that fetches hands over what is queued, paused or not."""
    patch.setattr(FetchingReader, "_ready", lambda self: self._queue)


def who_has_ended_is_waited_for(patch: pytest.MonkeyPatch) -> None:
    """A subtask that has read its input to the end holds its group where it was."""
    patch.setattr(WatermarkAligner, "subtask_ended", lambda self, subtask: None)


def who_waits_is_not_woken(patch: pytest.MonkeyPatch) -> None:
    """A source that may go on learns of it, and is not polled."""
    allow = SourceOperator.allow_watermark

    def allow_silently(self: SourceOperator, allowed_ms: int) -> None:
        woken = self.woken
        allow(self, allowed_ms)
        self.woken = woken

    patch.setattr(SourceOperator, "allow_watermark", allow_silently)


PLANTS: Final[list[Plant]] = [
    records_of_a_paused_split_are_emitted,
    who_has_ended_is_waited_for,
    who_waits_is_not_woken,
]
