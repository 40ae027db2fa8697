"""Runs mutants of the cores: `python -m tests.mutants [--sample N] [--seed N] [--at MODULE[:LINE]] [--out FILE]`."""

from __future__ import annotations

import argparse
import queue
import random
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.mutants.cores import CORES, PACKAGE
from tests.mutants.mutations import mutations
from tests.mutants.trial import Copy, Mutant

ROOT: Final = Path(__file__).parents[2]
KNOWN: Final = Path(__file__).with_name("survivors.toml")
SCORE_LEAST: Final = 0.95


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line; exits when it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Do the tests notice small changes?")
    parser.add_argument("--sample", type=int, default=180, help="how many mutants to run")
    parser.add_argument("--seed", type=int, default=1, help="which mutants to take")
    parser.add_argument("--at", action="append", metavar="MODULE[:LINE]", help="run all mutants of places instead")
    parser.add_argument("--jobs", type=int, default=2, help="how many to run at a time")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the result")
    return parser.parse_args(given)


def all_mutants() -> Iterator[Mutant]:
    """Yield every mutant of the cores."""
    for core in CORES:
        for module in core.modules(ROOT):
            source = (ROOT / module).read_text()
            lines = source.splitlines()
            for each in mutations(source):
                yield Mutant(core, module, each, lines[each.line - 1].strip())


def is_at(mutant: Mutant, places: Sequence[str]) -> bool:
    """Return whether a mutant is at one of these places, each a module or a line of one."""
    module = str(mutant.module.relative_to(PACKAGE))
    return module in places or f"{module}:{mutant.mutation.line}" in places


def survivors(mutants: Sequence[Mutant], jobs: int) -> list[Mutant]:
    """Return the mutants that no test kills. Raises `TrialError` when the tests fail without any."""
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()

    def lives(mutant: Mutant) -> bool:
        copy = copies.get()
        try:
            killed = copy.is_killed(mutant, limits_s)
        finally:
            copies.put(copy)
        print("killed  " if killed else "SURVIVES", mutant, file=sys.stderr, flush=True)
        return not killed

    with tempfile.TemporaryDirectory(prefix="headgate-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        own = [Copy(ROOT, Path(folder) / f"{number}") for number in range(jobs)]
        limits_s = own[0].limits_s(mutants)
        for copy in own:
            copies.put(copy)
        return [mutant for mutant, alive in zip(mutants, pool.map(lives, mutants), strict=True) if alive]


def known_reasons() -> dict[tuple[str, str, str], str]:
    """Return why mutants survive that were looked at: by module, line and what takes the place of a part of it."""
    entries = tomllib.loads(KNOWN.read_text())["survivor"]
    return {(entry["module"], entry["line"], entry["after"]): " ".join(entry["why"].split()) for entry in entries}


def reason(mutant: Mutant) -> str | None:
    """Return why a mutant may survive, None when nobody has said so."""
    module = str(mutant.module.relative_to(PACKAGE))
    return known_reasons().get((module, mutant.text, " ".join(mutant.mutation.after.split())))


def report(mutants: Sequence[Mutant], alive: Sequence[Mutant], of: int, seed: int, took_s: float) -> str:
    """Return the result as text."""
    killed = len(mutants) - len(alive)
    open_ones = [mutant for mutant in alive if reason(mutant) is None]
    lines = [
        f"{len(mutants)} mutants of the {of:,} that the cores have, seed {seed}, {took_s / 60:.0f} minutes",
        f"killed: {killed} ({killed / len(mutants):.1%})",
        f"survivors: {len(alive)}, of which {len(alive) - len(open_ones)} change nothing that a job could notice",
        f"score: {killed / (killed + len(open_ones)):.1%} of the mutants that could be killed",
    ]
    for mutant in alive:
        lines += ["", str(mutant), f"    {mutant.text}", f"    {reason(mutant) or 'not explained'}"]
    return "\n".join(lines) + "\n"


def main() -> int:
    options = arguments(sys.argv[1:])
    every = list(all_mutants())
    if options.at:
        mutants = [mutant for mutant in every if is_at(mutant, options.at)]
    else:
        mutants = random.Random(options.seed).sample(every, options.sample)
    began_s = time.monotonic()
    alive = survivors(mutants, options.jobs)
    text = report(mutants, alive, len(every), options.seed, time.monotonic() - began_s)
    print(text)
    if options.out is not None:
        options.out.write_text(text)
    open_ones = sum(reason(mutant) is None for mutant in alive)
    return 0 if open_ones <= (1 - SCORE_LEAST) * len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
