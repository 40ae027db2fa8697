"""The count in tumbling windows on the peers: PyFlink in its thread mode, and Bytewax, each with one task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from bench.inputs import KEYS
from bench.peers.systems import PEERS, thread_mode
from bench.timed_programs import WINDOW_MS, records_per_ms
from bench.trial import run_program

HERE: Final = Path(__file__).parent
RUN_S_MAX: Final = 600.0
SYSTEMS: Final = {
    "PyFlink, thread mode": ("windowed_count.py", thread_mode().options | {"parallelism.default": "1"}),
    "Bytewax": ("windowed_count_bytewax.py", {}),
}


def rate(system: str, per_key: int, count: int) -> float:
    """Return the records a second of a system that reads so many. Blocks. Raises `TrialFailedError`."""
    program, options = SYSTEMS[system]
    given = {
        "keys": KEYS,
        "records_per_ms": records_per_ms(per_key),
        "window_ms": WINDOW_MS,
        "records": count,
        "options": options,
    }
    found = run_program([str(PEERS / "bin" / "python"), str(HERE / program), json.dumps(given)], RUN_S_MAX)
    return float(found["rate"])
