"""The row of the benchmark about streaming DataFrames: a keyed count, next to Spark's own state."""

from __future__ import annotations

import importlib.util
from statistics import median

from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.trial import run_module

OWN_BATCHES, SPARK_BATCHES = 7, 3
"""Micro-batches of a run; the first one only starts the clock."""
RUN_S_MAX = 600.0


def stream_of_files(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (ab): a keyed count fed by `from_spark_stream`, next to `transformWithState` on the same stream."""
    if importlib.util.find_spec("google.protobuf") is None:
        say("left out (ab): transformWithState needs the package protobuf")
        return []
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(effort.peer_rounds):
        for system, batches, rates in (("headgate", OWN_BATCHES, ours), ("transformWithState", SPARK_BATCHES, theirs)):
            say(f"keyed count of a streaming DataFrame, round {number + 1} of {effort.peer_rounds}: {system}")
            given = {"system": system, "batches": batches, "target": target}
            rates.append(run_module("bench.streams", given, RUN_S_MAX)["rate"])
    ratios = tuple(own / other for own, other in zip(ours, theirs, strict=True))
    return [
        Figure(
            row="ab",
            what="keyed count of a streaming DataFrame by from_spark_stream, one slot",
            value=median(ours),
            unit="records/s",
            of_runs=tuple(ours),
        ),
        Figure(
            row="ab",
            what="  Spark's transformWithState, two tasks",
            value=median(theirs),
            unit="records/s",
            of_runs=tuple(theirs),
        ),
        Figure(row="ab", what="  ratio", value=median(ratios), unit="ratio", target=Target(least=10.0), of_runs=ratios),
    ]


MEASURES = {"ab": stream_of_files}
