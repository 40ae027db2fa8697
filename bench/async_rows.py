"""The rows of the benchmark about what is asynchronous: calls, checkpoints while many are in flight, and state."""

from __future__ import annotations

from bench.async_programs import WAYS
from bench.async_state_programs import CACHED, KINDS, READS
from bench.effort import Effort, Say
from bench.fault_rows import durations_ms
from bench.figures import Figure, Target
from bench.outputs import percentile
from bench.rounds import Rounds, bare, steady
from bench.state_settings import CELL_BYTES, INCREMENTAL, ROCKSDB
from bench.trial import Trial, run_trial

CHECKPOINT_MS = 200
CHECKPOINTS_LEAST = 100
FILLING_S = 6.0


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


def state(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (ak): functions whose state lies in RocksDB, awaited next to plain, with reads that take 1 ms or not."""
    rounds = Rounds(say)
    names = [f"{way} {kind}, {reads}" for reads in READS for kind in KINDS for way in ("plain", "async")]
    rounds.run(effort.rounds, {name: _counts(name, target, effort) for name in names})
    figures: list[Figure] = []
    for reads, words in (("slow", "1 ms a read"), ("local", "local reads")):
        for kind, counted in (("map", "in an entry of a map"), ("value", "in a value")):
            plain, awaited = f"plain {kind}, {reads}", f"async {kind}, {reads}"
            target_of = Target(least=10.0) if (kind, reads) == ("map", "slow") else None
            figures += rounds.rate("ak", f"keyed count {counted}, RocksDB, {words}, plain", plain)
            figures += rounds.rate("ak", "  with asynchronous state", awaited)
            figures += rounds.ratio("ak", "  to plain", (awaited, plain), target_of)
    return figures


def _counts(name: str, target: str, effort: Effort) -> Trial:
    """Return the trial of a count by keys that are filled during the warm-up."""
    warm_up_s = effort.warm_up_s + FILLING_S
    cold = {
        "headgate.rocksdb.cache-size": f"{CACHED * CELL_BYTES} b",
        "state.backend.rocksdb.writebuffer.size": "1 mb",
    }
    return Trial(
        program=name,
        target=target,
        seconds=effort.steady_s + warm_up_s,
        warm_up_s=warm_up_s,
        checkpoint_ms=1_000,
        options=ROCKSDB | INCREMENTAL | cold,
    )


MEASURES = {"aj": calls, "ak": state}
