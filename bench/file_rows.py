"""The row of the benchmark about files: lines of text, read by one slot."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from bench import inputs
from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.trial import Trial, run_trial


def lines_of_text(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (w): lines of a file into a map that does nothing, next to Python's own iteration over the same file."""
    bare = Trial(program="files", target="bare", seconds=effort.bare_s)
    job = Trial(program="files", target=target, seconds=effort.steady_s, warm_up_s=1.0)
    per_line = bytes_per_line() / 1e6
    rates, ratios = [], []
    for number in range(effort.rounds):
        say(f"lines of a file, round {number + 1} of {effort.rounds}")
        own, ours = run_trial(bare)["rate"], run_trial(job)["rate"]
        rates.append(ours * per_line)
        ratios.append(ours / own)
    return [
        Figure(
            row="w",
            what="lines of a file into a map that does nothing, one slot",
            value=median(rates),
            unit="MB/s",
            target=Target(least=150.0),
            of_runs=tuple(rates),
            note=f"lines of {per_line * 1e6:.0f} bytes",
        ),
        Figure(
            row="w",
            what="  to Python's own iteration over the file",
            value=median(ratios),
            unit="ratio",
            of_runs=tuple(ratios),
        ),
    ]


def bytes_per_line() -> float:
    """Return how long a line of the file is, with its end."""
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        data = inputs.text_file(Path(folder)).read_bytes()
    return len(data) / data.count(b"\n")


MEASURES = {"w": lines_of_text}
