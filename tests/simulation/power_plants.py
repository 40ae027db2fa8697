"""Faults to plant that show when machines lose power, or when files are damaged: see `plants`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from headgate.checkpoint.restore import latest
from headgate.elements import Barrier
from headgate.operators.base import OperatorSnapshot
from headgate.operators.sink import SinkOperator
from headgate.testing.sim.disk import Disk
from headgate.testing.sim.storage import SimStore

Plant = Callable[[pytest.MonkeyPatch], None]


def written_but_not_synced(patch: pytest.MonkeyPatch) -> None:
    """Storage reports a file as written that is not on the disk yet."""

    def rename_only(self: Disk, temporary: str, path: str) -> None:
        del self._memory.files[temporary]
        self._at_risk[path] = self._at_risk.pop(temporary)

    patch.setattr(Disk, "rename", rename_only)
    patch.setattr(SimStore, "_sync", lambda self, path: None)


def prepared_but_not_secured(patch: pytest.MonkeyPatch) -> None:
    """A subtask acknowledges before its sinks have made their prepared output durable."""
    snapshot = SinkOperator.snapshot

    def unsecured(self: SinkOperator, barrier: Barrier) -> OperatorSnapshot:
        return replace(snapshot(self, barrier), secure=lambda: None)

    patch.setattr(SinkOperator, "snapshot", unsecured)


def evidence_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    """A torn or missing manifest counts as never complete, even if there is evidence."""
    patch.setattr(latest, "that_counts", lambda evidence, chain: {})
