"""Memory of a slot over time: the keyed count with checkpoints of 1 s, its resident size flat after warm-up.

`python -m bench.memory [--minutes 20] [--target spark]`; exits with 1 when the size after the warm-up
spreads by more than 20 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import psutil

from bench.outputs import read_tallies
from bench.trial import Trial, TrialFailedError, start, wait_until

SPREAD_MAX = 0.20
WARM_UP_SHARE = 0.1
SAMPLES = 120
OUT = Path(__file__).parent / "out" / "memory.json"


def spread(sizes_bytes: Sequence[int]) -> float:
    """Return how far the sizes lie apart, as a share of their median.

    >>> spread([100, 110, 90])
    0.2
    """
    return (max(sizes_bytes) - min(sizes_bytes)) / median(sizes_bytes)


def after_warm_up(sizes_bytes: Sequence[int]) -> Sequence[int]:
    """Return the sizes without those of the first tenth of the time."""
    return sizes_bytes[int(len(sizes_bytes) * WARM_UP_SHARE) :]


def watch(target: str, minutes: float, say: Callable[[str], None]) -> list[int]:
    """Run the job for that long; return the resident size of its slot's process in bytes, at even times."""
    pause_s = minutes * 60.0 / SAMPLES
    trial = Trial(program="count", target=target, seconds=minutes * 60.0 + 600.0, checkpoint_ms=1_000)
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        job = start(trial, folder)
        try:
            wait_until(lambda: 0.0 if read_tallies(Path(folder)) else None, "the first output")
            process = psutil.Process(read_tallies(Path(folder))[0].process)
            sizes_bytes = []
            for sample in range(SAMPLES):
                time.sleep(pause_s)
                if job.wait(0.0) is not None:
                    raise TrialFailedError(f"the job ended early: {job.wait()}")
                sizes_bytes.append(process.memory_info().rss)
                if sample % 10 == 9:
                    say(f"{(sample + 1) * pause_s / 60.0:5.1f} min  {sizes_bytes[-1] / 1e6:7.1f} MB")
        finally:
            job.cancel()
            job.wait()
    return sizes_bytes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description="Watch the memory of a slot.")
    parser.add_argument("--minutes", type=float, default=20.0, help="how long to watch")
    parser.add_argument("--target", choices=("spark", "minicluster"), default="spark", help="where the job runs")
    options = parser.parse_args(sys.argv[1:])
    sizes_bytes = watch(options.target, options.minutes, lambda line: print(line, flush=True))
    steady = after_warm_up(sizes_bytes)
    flat = spread(steady) <= SPREAD_MAX
    print(
        f"(j) memory of a slot over {options.minutes:g} minutes: {min(steady) / 1e6:.1f} to {max(steady) / 1e6:.1f} MB "
        f"after warm-up, spread {spread(steady):.1%} (target <= {SPREAD_MAX:.0%}): {'ok' if flat else 'MISSED'}"
    )
    OUT.parent.mkdir(parents=True, exist_ok=True)
    found = {"minutes": options.minutes, "target": options.target, "rss_bytes": sizes_bytes, "spread": spread(steady)}
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
