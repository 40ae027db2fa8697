"""The command line of simulations: `--seed N` prints the whole trace of one run, `--seeds N` sums up many."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TextIO, final

from headgate.testing.sim.run import RunReport

PROGRESS_EVERY: Final = 500
BLOCK: Final = 50
"""Number of seeds that a process takes at a time."""


class Run(Protocol):
    """Simulates one seed. It is pickled and sent to the processes that run the seeds."""

    def __call__(self, seed: int, *, faults: bool = True) -> RunReport:
        """Run the seed, with faults or without."""
        ...


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `execute` to the parser."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="run this seed and print its trace")
    what.add_argument("--seeds", type=int, help="run the seeds 1 to N")
    parser.add_argument("--first", type=int, default=1, help="begin with this seed instead of 1")
    parser.add_argument("--jobs", type=int, default=1, help="share the seeds out to so many processes")
    parser.add_argument("--out", type=Path, help="write the summary to this file, too")
    parser.add_argument("--without-faults", action="store_true", help="run the same jobs with nothing going wrong")


def execute(run: Run, options: argparse.Namespace) -> int:
    """Run the seeds of the options; return 0 when every run kept every promise, else 1."""
    if options.without_faults:
        run = partial(run, faults=False)
    if options.seed is not None:
        return _one(run(options.seed), sys.stdout)
    seeds = range(options.first, options.first + options.seeds)
    return _many(run, seeds, options.jobs, options.out)


def _one(report: RunReport, out: TextIO) -> int:
    print(f"job: {report.job}", f"faults: {', '.join(report.faults) or 'none'}", *report.trace, sep="\n", file=out)
    print(report.describe() if not report.passed else _in_a_line(report), file=out)
    return int(not report.passed)


@final
@dataclass(frozen=True, slots=True)
class _Block:
    """The results of consecutive seeds."""

    seeds: int
    failed: tuple[int, ...]
    stories: tuple[str, ...]
    checkpoints: int
    restarts: int
    rescales: int
    actions: int


def _many(run: Run, seeds: range, jobs: int, out: Path | None) -> int:
    began_s = time.monotonic()
    parts = [seeds[start : start + BLOCK] for start in range(0, len(seeds), BLOCK)]
    blocks: list[_Block] = []
    with ProcessPoolExecutor(jobs) as pool:
        for block in pool.map(partial(_run_block, run), parts):
            blocks.append(block)
            print(*block.stories, sep="\n", end="\n" if block.stories else "", flush=True)
            done = sum(each.seeds for each in blocks)
            if done % PROGRESS_EVERY == 0:
                print(f"{done} of {len(seeds)} seeds, {sum(len(each.failed) for each in blocks)} failed", flush=True)
    lines = _summary(seeds, blocks)
    took_s = time.monotonic() - began_s
    lines.append(f"{took_s:.0f} s, {len(seeds) / took_s:.1f} seeds/s in {jobs} processes")
    print(*lines, sep="\n")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text("\n".join(lines) + "\n")
    return int(any(block.failed for block in blocks))


def _run_block(run: Run, seeds: range) -> _Block:
    reports = [_without_trace(run(seed)) for seed in seeds]
    failed = [report for report in reports if not report.passed]
    return _Block(
        seeds=len(seeds),
        failed=tuple(report.seed for report in failed),
        stories=tuple(report.describe() for report in failed),
        checkpoints=sum(report.checkpoints for report in reports),
        restarts=sum(report.restarts for report in reports),
        rescales=sum(report.rescales for report in reports),
        actions=sum(report.actions for report in reports),
    )


def _without_trace(report: RunReport) -> RunReport:
    """Return the report without its trace, unless the run failed."""
    return replace(report, trace=()) if report.passed else report


def _summary(seeds: range, blocks: list[_Block]) -> list[str]:
    failed = [seed for block in blocks for seed in block.failed]
    figures = ("checkpoints", "restarts", "rescales", "actions")
    checkpoints, restarts, rescales, actions = (sum(getattr(block, figure) for block in blocks) for figure in figures)
    return [
        f"seeds {seeds.start} to {seeds.stop - 1}: {len(seeds) - len(failed)} passed, {len(failed)} failed",
        f"failed: {', '.join(map(str, failed)) or 'none'}",
        f"checkpoints completed: {checkpoints}; restarts: {restarts}; rescales: {rescales}; actions: {actions}",
    ]


def _in_a_line(report: RunReport) -> str:
    return (
        f"seed {report.seed} passed: {report.checkpoints} checkpoints, {report.restarts} restarts, "
        f"{report.rescales} rescales, "
        f"{report.virtual_ms:.0f} ms of virtual time, {report.actions} actions"
    )
