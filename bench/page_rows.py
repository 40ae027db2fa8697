"""The row of the benchmark about the web page of a job: what an open page costs."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.rounds import Rounds, steady
from bench.trial import run_module


def open_page(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (am): the CPU time of slots and driver while a page is open, next to the same job without."""
    rounds = Rounds(say)
    closed = steady("count", target, effort)
    rounds.run(effort.rounds, {"page closed": closed, "page open": replace(closed, watched=True)})
    pairs = list(zip(rounds.results["page open"], rounds.results["page closed"], strict=True))
    slots = tuple(opened["cpu_ns"] / without["cpu_ns"] for opened, without in pairs)
    driver = tuple(opened["driver_share"] - without["driver_share"] for opened, without in pairs)
    return [
        Figure(
            row="am",
            what="CPU of slots for each record while a page is open, to closed",
            value=median(slots),
            unit="ratio",
            target=Target(most=1.01),
            of_runs=slots,
        ),
        Figure(
            row="am",
            what="  the driver's CPU for an open page, of a core",
            value=median(driver),
            unit="ratio",
            target=Target(most=0.01),
            of_runs=driver,
            note=f"driver in all {median(opened['driver_share'] for opened, _ in pairs):.3f} of a core",
        ),
        first_view(target, effort, say),
    ]


def first_view(target: str, effort: Effort, say: Say) -> Figure:
    """Measure how long a browser takes to show the job graph."""
    say("the first view of a page")
    times_ms = tuple(run_module("bench.first_view", {"target": target, "times": effort.failures}, VIEWS_S_MAX)["ms"])
    return Figure(
        row="am",
        what="  first view of a page in a browser, from the address to the job graph",
        value=median(times_ms),
        unit="ms",
        target=Target(most=300.0),
        of_runs=times_ms,
    )


VIEWS_S_MAX = 180.0

MEASURES = {"am": open_page}
