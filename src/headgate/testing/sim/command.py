"""Command line: `--seed N` tells the whole story of one run, `--seeds N` runs many and sums them up."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from headgate.testing.sim.run import RunReport, run

PROGRESS_EVERY: Final = 500


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; return 0 when every run kept every promise, else 1."""
    parser = argparse.ArgumentParser(prog="python -m headgate.testing.sim", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="run this seed and print its trace")
    what.add_argument("--seeds", type=int, help="run the seeds 1 to N")
    parser.add_argument("--first", type=int, default=1, help="begin with this seed instead of 1")
    parser.add_argument("--out", type=Path, help="write the summary to this file, too")
    parser.add_argument("--without-faults", action="store_true", help="run the same jobs with nothing going wrong")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        return _one(options.seed, sys.stdout, with_faults=not options.without_faults)
    return _many(range(options.first, options.first + options.seeds), options.out, not options.without_faults)


def _one(seed: int, out: TextIO, *, with_faults: bool) -> int:
    report = run(seed, faults=with_faults)
    print(f"job: {report.job}", f"faults: {', '.join(report.faults) or 'none'}", *report.trace, sep="\n", file=out)
    print(report.describe() if not report.passed else _in_a_line(report), file=out)
    return int(not report.passed)


def _many(seeds: range, out: Path | None, with_faults: bool) -> int:
    began_s = time.monotonic()
    failed: list[int] = []
    checkpoints = restarts = actions = 0
    for done, seed in enumerate(seeds, start=1):
        report = run(seed, faults=with_faults)
        checkpoints += report.checkpoints
        restarts += report.restarts
        actions += report.actions
        if not report.passed:
            failed.append(seed)
            print(report.describe(), flush=True)
        if done % PROGRESS_EVERY == 0:
            print(f"{done} of {len(seeds)} seeds, {len(failed)} failed", flush=True)
    took_s = time.monotonic() - began_s
    lines = [
        f"seeds {seeds.start} to {seeds.stop - 1}: {len(seeds) - len(failed)} passed, {len(failed)} failed",
        f"failed: {', '.join(map(str, failed)) or 'none'}",
        f"checkpoints completed: {checkpoints}; restarts: {restarts}; actions: {actions}",
        f"{took_s:.0f} s, {len(seeds) / took_s:.1f} seeds/s in one process",
    ]
    print(*lines, sep="\n")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text("\n".join(lines) + "\n")
    return int(bool(failed))


def _in_a_line(report: RunReport) -> str:
    return (
        f"seed {report.seed} passed: {report.checkpoints} checkpoints, {report.restarts} restarts, "
        f"{report.virtual_ms:.0f} ms of virtual time, {report.actions} actions"
    )
