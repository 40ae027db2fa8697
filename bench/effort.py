"""Effort: how long and how often the benchmark measures, and who is told what is measured next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from bench.inputs import CHURN_KEYS, CHURN_KEYS_QUICK, TIMERS, TIMERS_QUICK

Say = Callable[[str], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long, how often, and with how much state."""

    rounds: int
    bare_s: float
    steady_s: float
    warm_up_s: float
    failures: int
    churn_keys: int
    churn_s: float
    timers: int
    big_keys: int
    lines: int
    peer_rounds: int
    peer_s: float
    peer_warm_up_s: float
    peer_windowed: int


FULL = Effort(
    rounds=5,
    bare_s=8.0,
    steady_s=10.0,
    warm_up_s=2.0,
    failures=5,
    churn_keys=CHURN_KEYS,
    churn_s=60.0,
    timers=TIMERS,
    big_keys=5_000_000,
    lines=20_000_000,
    peer_rounds=3,
    peer_s=22.0,
    peer_warm_up_s=8.0,
    peer_windowed=400_000,
)
QUICK = Effort(
    rounds=3,
    bare_s=2.0,
    steady_s=3.0,
    warm_up_s=1.5,
    failures=2,
    churn_keys=CHURN_KEYS_QUICK,
    churn_s=40.0,
    timers=TIMERS_QUICK,
    big_keys=1_000_000,
    lines=6_000_000,
    peer_rounds=1,
    peer_s=12.0,
    peer_warm_up_s=5.0,
    peer_windowed=100_000,
)
