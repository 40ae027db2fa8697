"""The rows of the benchmark about event time: windows, sessions, joins and patterns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Final

from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.inputs import RECORDS
from bench.peers import systems, windows
from bench.rounds import Rounds, bare, steady
from bench.timed_programs import WINDOWED, bare_pattern, bare_windows
from bench.trial import run_module, run_trial

SLIDES_S_MAX: Final = 300.0
PEERS_LEAST: Final = {"PyFlink, thread mode": 50.0, "Bytewax": 15.0}
SESSIONS_LEAST: Final = {20: 0.5, 2: 0.25}


def tumbling(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (ae): a count in tumbling windows, next to its bare loop, and to peers in rounds of their own."""
    if (missing := systems.missing_peers()) is not None:
        say(f"left out the peers of (ae): {missing}")
    rounds = Rounds(say)
    figures: list[Figure] = []
    for per_key in WINDOWED:
        job, loop = f"windows-{per_key}", f"bare windows-{per_key}"
        rounds.run(effort.rounds, {loop: bare(job, effort), job: steady(job, target, effort)})
        what = f"tumbling count, {per_key} records for each key and window"
        figures += rounds.rate("ae", what, job, per_result(per_key))
        figures += rounds.ratio("ae", "  to the bare loop", (job, loop), Target(least=0.5))
        if missing is None:
            figures += to_peers(per_key, target, effort, say)
    return figures


def per_result(per_key: int) -> float:
    """Return how many records there are for each result: more than `per_key`, as some windows have none of a key."""
    return RECORDS / bare_windows(per_key)()


def to_peers(per_key: int, target: str, effort: Effort, say: Say) -> Iterator[Figure]:
    """Yield the ratio of that count to each peer's, within rounds in which they alternate."""
    job = steady(f"windows-{per_key}", target, effort)
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in windows.SYSTEMS}
    for number in range(effort.peer_rounds):
        say(f"{per_key} records for each key and window, round {number + 1} of {effort.peer_rounds}: headgate")
        ours.append(run_trial(job)["rate"] * per_result(per_key))
        for name, rates in theirs.items():
            say(f"{per_key} records for each key and window, round {number + 1} of {effort.peer_rounds}: {name}")
            rates.append(windows.rate(name, per_key, effort.peer_windowed))
    yield from peer_figures(ours, theirs)


def peer_figures(ours: list[float], theirs: dict[str, list[float]]) -> Iterator[Figure]:
    """Yield the ratio to each peer, within each round."""
    for name, rates in theirs.items():
        ratios = tuple(our / their for our, their in zip(ours, rates, strict=True))
        yield Figure(
            row="ae",
            what=f"  to {name}",
            value=median(ratios),
            unit="ratio",
            target=Target(least=PEERS_LEAST[name]),
            of_runs=ratios,
            note=f"{median(rates):,.0f} records/s",
        )


def interval_join(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (af): an interval join, next to a deque for each key and side."""
    rounds = Rounds(say)
    rounds.run(effort.rounds, {"bare join": bare("join", effort), "join": steady("join", target, effort)})
    return [
        *rounds.rate("af", "interval join, three partners in the interval", "join", unit="pairs/s"),
        *rounds.ratio("af", "  to the bare loop", ("join", "bare join"), Target(least=0.25)),
    ]


def pattern(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (ag): a pattern of three steps, in records a second."""
    rounds = Rounds(say)
    rounds.run(effort.rounds, {"pattern": steady("pattern", target, effort)})
    found = rounds.rate("ag", "a pattern of three steps", "pattern", RECORDS / bare_pattern()())
    return [replace(figure, target=Target(least=200_000.0)) for figure in found]


def sliding(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (ah): an hour that slides by the second, next to tumbling hours, by the operator alone."""
    passes = []
    for number in range(effort.peer_rounds):
        say(f"sliding windows, round {number + 1} of {effort.peer_rounds}")
        passes.append(run_module("bench.slides", {}, SLIDES_S_MAX))
    found = {name: tuple(each[name] for each in passes) for name in passes[0]}
    ratios = tuple(each["sliding_ns"] / each["tumbling_ns"] for each in passes)
    costs = f"{median(found['sliding_ns']):.0f} ns and {median(found['tumbling_ns']):.0f} ns"
    rows = (
        ("an hour that slides by the second: a record, to one of tumbling hours", ratios, "ratio", 1.5, costs),
        ("  a result", found["result_us"], "us", 2.0, f"the longest evaluation {median(found['longest_ms']):.0f} ms"),
        ("a watermark that fires none of 1,000,000 windows", found["quiet_ms"], "ms", 1.0, ""),
    )
    return [
        Figure(row="ah", what=what, value=median(runs), unit=unit, target=Target(most=most), of_runs=runs, note=note)
        for what, runs, unit, most, note in rows
    ]


def sessions(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (ai): a count in sessions, next to that in tumbling windows of as many records."""
    rounds = Rounds(say)
    figures: list[Figure] = []
    for per_key, least in SESSIONS_LEAST.items():
        session, window = f"sessions-{per_key}", f"windows-{per_key}"
        rounds.run(effort.rounds, {window: steady(window, target, effort), session: steady(session, target, effort)})
        what = f"count in sessions, {per_key} records for each key and session"
        figures += rounds.rate("ai", what, session, per_result(per_key))
        figures += rounds.ratio("ai", "  to tumbling windows", (session, window), Target(least=least))
    return figures


MEASURES = {"ae": tumbling, "af": interval_join, "ag": pattern, "ah": sliding, "ai": sessions}
