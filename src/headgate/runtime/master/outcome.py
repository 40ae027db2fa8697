"""The outcome of a job, as the program that submitted it sees it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

from headgate.ids import JobId
from headgate.runtime.master.supervision import JobStatus

FAILURES_MAX: Final = 100
"""Failures of a job that are kept, the latest: a job may restart without end."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How a job ended. `cause` is a text for people, None when it finished; `counters` are its named counters."""

    job_id: JobId
    status: JobStatus
    cause: str | None
    runtime_ms: float
    counters: dict[str, int] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFigures:
    """One completed checkpoint: how long it took from trigger to durable manifest, and what was written."""

    checkpoint_id: int
    duration_ms: float
    size_bytes: int
    sync_ms_max: float


@final
@dataclass(slots=True, kw_only=True)
class JobProgress:
    """What is known of a running job; a snapshot for people and tests, replaced as messages come in."""

    attempt: int = 0
    restarts: int = 0
    records_in: dict[str, int] = field(default_factory=dict)
    checkpoints: Sequence[CheckpointFigures] = ()
    failures: deque[str] = field(default_factory=lambda: deque(maxlen=FAILURES_MAX))
