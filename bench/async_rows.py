"""The row of the benchmark about asynchronous calls: calls a second, and checkpoints while many are in flight."""

from __future__ import annotations

from bench.async_programs import WAYS
from bench.effort import Effort, Say
from bench.fault_rows import durations_ms
from bench.figures import Figure, Target
from bench.outputs import percentile
from bench.rounds import Rounds, bare, steady
from bench.trial import Trial, run_trial

CHECKPOINT_MS = 200
CHECKPOINTS_LEAST = 100


def calls(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (aj): 10,000 calls of 50 ms in flight in one slot, next to a bare asyncio loop."""
    jobs = {way: steady(f"calls-{way}", target, effort) for way in WAYS}
    rounds = Rounds(say)
    rounds.run(effort.rounds, {"bare loop": bare("calls", effort), **jobs})
    figures: list[Figure] = []
    for way in WAYS:
        figures += rounds.rate("aj", f"10,000 calls of 50 ms in flight, {way}", way, unit="calls/s")
        figures += rounds.ratio("aj", "  to a bare asyncio loop", (way, "bare loop"), Target(least=0.5))
    return [*figures, checkpoints(target, say)]


def checkpoints(target: str, say: Say) -> Figure:
    """Measure by how much the slowest checkpoints take longer with 10,000 calls in flight than with next to none."""
    slowest_ms = {}
    for program in ("few calls", "calls in flight"):
        say(f"checkpoints of {program}")
        seconds = (CHECKPOINTS_LEAST + 10) * CHECKPOINT_MS / 1e3
        result = run_trial(Trial(program=program, target=target, seconds=seconds, checkpoint_ms=CHECKPOINT_MS))
        slowest_ms[program] = percentile(sorted(durations_ms(result, 2)), 99)
    few, many = slowest_ms.values()
    return Figure(
        row="aj",
        what="  a checkpoint with 10,000 calls in flight, p99, above that of an idle job",
        value=many - few,
        unit="ms",
        target=Target(most=50.0),
        note=f"{many:.0f} ms and {few:.0f} ms",
    )


MEASURES = {"aj": calls}
