"""One measurement of a job whose keys all change, and what its checkpoints do to it; in a process of its own.

`python -m bench.churn` takes a `Trial` as JSON, like `bench.trial`, and prints its result.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.outputs import Collection, percentile, read_collections, read_latencies, read_tallies
from bench.trial import CHILD_S_EXTRA, Result, Trial, TrialFailedError, given_trial, run_module, start, watch
from bench.windows import Window, full_windows, gap_within, outside, rate_within


def run_churn(trial: Trial) -> Result:
    """Run a trial of a `churn` or a `paced` program in a new process and return its result. Blocks."""
    return run_module("bench.churn", asdict(trial), trial.seconds + CHILD_S_EXTRA)


# --- in the new process


def measure(trial: Trial) -> Result:
    """Run the trial here."""
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as name:
        folder = Path(name)
        checkpoints = watch(start(trial, name))
        collections = read_collections(folder)
        tallies = read_tallies(folder)
        if not tallies:
            return latency(read_latencies(folder), checkpoints, trial.warm_up_s)
        marks = tallies[0].marks
        begin_s, end_s = marks[0].time_s + trial.warm_up_s, marks[-1].time_s
        sync_ms = full_windows(checkpoints, begin_s, end_s)
        if trial.checkpoint_ms is not None and not sync_ms:
            raise TrialFailedError(f"no checkpoint of the whole state in {end_s - begin_s:.0f} s: {checkpoints}")
        during, between = list(sync_ms), outside(sync_ms, begin_s, end_s)
        found: Result = {"rate": rate_within(marks, [Window(begin_s, end_s)]), "checkpoints": len(sync_ms)}
        if sync_ms:
            found |= {
                "sync_ms": list(sync_ms.values()),
                "size_bytes": max(each["size_bytes"] for each in checkpoints),
                "took_s": [window.end_s - window.begin_s for window in during],
                "rate_during": rate_within(marks, during),
                "rate_between": rate_within(marks, between),
                "rates_during": [rate_within(marks, [window]) for window in during],
                "gap_during_ms": gap_within(marks, during) * 1_000.0,
                "gap_between_ms": gap_within(marks, between) * 1_000.0,
                "collections_during_ms": longest_ms(collections, during),
                "collections_ms": longest_ms(collections, [Window(0.0, end_s)]),
            }
        return found


def longest_ms(collections: list[Collection], windows: list[Window]) -> float:
    """Return the longest stop for the collection of garbage within the windows."""
    inside = (each.took_s for each in collections if any(window.holds(each.time_s) for window in windows))
    return max(inside, default=0.0) * 1_000.0


def latency(samples: list[tuple[float, float]], checkpoints: list[Result], warm_up_s: float) -> Result:
    """Return percentiles of the latency of records that were due while checkpoints were under way, and between."""
    begin_s, end_s = samples[0][0] + warm_up_s, samples[-1][0]
    during = list(full_windows(checkpoints, begin_s, end_s))
    parts = {"during": during, "between": outside(during, begin_s, end_s)}
    found: Result = {"checkpoints": len(during)}
    for name, windows in parts.items():
        inside = sorted(took_s * 1_000.0 for window in windows for due_s, took_s in samples if window.holds(due_s))
        found |= {f"p{percent}_{name}_ms": percentile(inside, percent) for percent in (50, 99)} if inside else {}
    return found


if __name__ == "__main__":
    print(json.dumps(measure(given_trial())), flush=True)
