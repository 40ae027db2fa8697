"""The rows of the benchmark about large state: memory, checkpoints while it changes, restore, and timers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import mean, median

from bench.big_state import run_big_state
from bench.churn import run_churn
from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.rounds import bare
from bench.state_settings import INCREMENTAL, ROCKSDB, ROCKSDB_BIG
from bench.trial import Result, Trial, run_trial

CHURN_CHECKPOINT_MS = 5_000


def big(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (o): memory and increments of a state that is larger than its cache, on RocksDB."""
    say(f"{effort.big_keys:,} keys on RocksDB")
    found = run_big_state("increments", effort.big_keys, ROCKSDB_BIG)
    full_bytes, full_s = found["full_bytes"], found["full_s"]
    written = tuple(each / full_bytes for each in found["written_bytes"])
    took = tuple(each / full_s for each in found["took_s"])
    keys = f"{effort.big_keys:,} keys"
    filled = f"{effort.big_keys / found['filled_s'] / 1e3:,.0f} k keys/s filled"
    bytes_note = f"full {full_bytes / 1e6:,.0f} MB; the mean is {mean(written):.3f}, as now and then files are merged"
    return [
        Figure(
            row="o",
            what=f"{keys} on RocksDB, 256 MB cache: memory at most",
            value=found["memory_bytes"] / 2**20,
            unit="MB",
            target=Target(most=1024.0),
            note=f"{found['memory_before_bytes'] / 2**20:.0f} MB before; {full_bytes / 1e6:,.0f} MB of state; {filled}",
        ),
        Figure(
            row="o",
            what="  1 % of the keys changed: bytes written, to the full snapshot",
            value=median(written),
            unit="ratio",
            target=Target(most=0.05),
            of_runs=written,
            note=bytes_note,
        ),
        Figure(
            row="o",
            what="  1 % of the keys changed: time, to the full snapshot",
            value=median(took),
            unit="ratio",
            target=Target(most=0.10),
            of_runs=took,
            note=f"full {full_s:.1f} s; synchronous pause up to {max(found['sync_ms']):.0f} ms",
        ),
    ]


def restores(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (q): restoring that state from local copies and from storage, and on more subtasks."""
    say(f"restore of {effort.big_keys:,} keys on RocksDB")
    found = run_big_state("restore", effort.big_keys, ROCKSDB_BIG)
    say("the same, two subtasks to three")
    rescaled = run_big_state("rescale", effort.big_keys, ROCKSDB_BIG)
    ratios = tuple(local / remote for local, remote in zip(found["local_s"], found["remote_s"], strict=True))
    size = f"{found['bytes'] / 1e6:,.0f} MB"
    times = f"{median(found['local_s']):.2f} s local, {median(found['remote_s']):.2f} s from storage, a folder"
    return [
        Figure(
            row="q",
            what=f"restore of {size} on RocksDB from local copies, to that from storage",
            value=median(ratios),
            unit="ratio",
            target=Target(most=1 / 3),
            of_runs=ratios,
            note=times,
        ),
        Figure(
            row="q",
            what=f"  {rescaled['bytes'] / 1e6:,.0f} MB of two subtasks on three, the slowest",
            value=max(rescaled["times_s"]),
            unit="s",
            of_runs=tuple(rescaled["times_s"]),
        ),
    ]


def churn_trial(target: str, effort: Effort, program: str, checkpoint_ms: int | None = CHURN_CHECKPOINT_MS) -> Trial:
    """Return a trial in which all keys change; the first third of its time fills the state."""
    return Trial(
        program=f"{program}-{effort.churn_keys}",
        target=target,
        seconds=effort.churn_s,
        warm_up_s=effort.churn_s / 3.0,
        checkpoint_ms=checkpoint_ms,
    )


def churn(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (p): what snapshots of a state that changes everywhere do to a job."""
    say(f"{effort.churn_keys:,} keys that all change, without checkpoints")
    without = run_churn(churn_trial(target, effort, "churn", checkpoint_ms=None))
    say(f"{effort.churn_keys:,} keys that all change, a checkpoint each 5 s")
    found = run_churn(churn_trial(target, effort, "churn"))
    say(f"{effort.churn_keys:,} keys that all change, records at a steady rate")
    paced = run_churn(churn_trial(target, effort, "paced"))
    return [
        pause_figure(f"{effort.churn_keys:,} keys all changing, synchronous pause, p99", found, 20.0),
        Figure(
            row="p",
            what="  longest gap in output while a snapshot is under way",
            value=found["gap_during_ms"],
            unit="ms",
            note=f"{found['gap_between_ms']:.0f} ms between snapshots; garbage collection up to "
            f"{found['collections_during_ms']:.0f} ms, {found['collections_ms']:.0f} ms while the state grows",
        ),
        Figure(
            row="p",
            what="  throughput while a snapshot is under way, to that between",
            value=found["rate_during"] / found["rate_between"],
            unit="ratio",
            target=Target(least=0.8),
            of_runs=tuple(rate / found["rate_between"] for rate in found["rates_during"]),
            note=f"{found['rate_between'] / 1e3:,.0f} k records/s between; whole run to one without checkpoints "
            f"{found['rate'] / without['rate']:.2f}",
        ),
        latency_figure(paced),
        churn_on_rocksdb(target, effort, say),
    ]


def churn_on_rocksdb(target: str, effort: Effort, say: Say) -> Figure:
    """Measure the part of (p) that is about RocksDB."""
    say(f"{effort.churn_keys:,} keys that all change, on RocksDB")
    trial = replace(churn_trial(target, effort, "churn"), options=ROCKSDB | INCREMENTAL)
    return pause_figure("  on RocksDB, synchronous pause, p99", run_churn(trial), 50.0)


def pause_figure(what: str, found: Result, most_ms: float) -> Figure:
    """Return the figure of synchronous pauses; of fewer than a hundred, the p99 is the longest."""
    pauses = tuple(found["sync_ms"])
    note = (
        f"{len(pauses)} checkpoints of {found['size_bytes'] / 1e6:.0f} MB, each {median(found['took_s']):.1f} s in all"
    )
    return Figure(
        row="p", what=what, value=max(pauses), unit="ms", target=Target(most=most_ms), of_runs=pauses, note=note
    )


def latency_figure(paced: Result) -> Figure:
    """Return the figure of record latency while a snapshot is under way, at a rate well below the most."""
    note = (
        f"p50 {paced['p50_during_ms']:.2f} ms; between snapshots p50 {paced['p50_between_ms']:.2f} ms, "
        f"p99 {paced['p99_between_ms']:.2f} ms"
    )
    what = "  record latency at 200,000 records/s while a snapshot is under way, p99"
    return Figure(row="p", what=what, value=paced["p99_during_ms"], unit="ms", note=note)


def timers(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (r): event-time timers of 100,000 keys, one for each record, all fired by the last watermark."""
    found: dict[str, list[Result]] = {"stream": [], "any": []}
    loops: list[Result] = []
    for number in range(effort.rounds):
        say(f"{effort.timers:,} timers, {number + 1} of {effort.rounds}")
        loops.append(run_trial(bare(f"timers-{effort.timers}-stream", effort)))
        for order, results in found.items():
            results.append(run_trial(Trial(program=f"timers-{effort.timers}-{order}", target=target, seconds=60.0)))
    count, stream = effort.timers, found["stream"]
    cpu_ns = median(each["cpu_s"] for each in stream) / count * 1e9
    least = Target(least=500_000.0)
    return [
        _timers(f"{count:,} event-time timers, registered", count, [each["register_s"] for each in stream], least),
        _timers("  fired", count, [each["fire_s"] for each in stream], least),
        replace(
            _timers("  both, one after the other", count, [_both_s(each) for each in stream], None),
            note=f"{cpu_ns:,.0f} ns of CPU each",
        ),
        _to_heap(count, stream, loops),
        _timers("  the same at times in no order", count, [_both_s(each) for each in found["any"]], None),
    ]


def _to_heap(count: int, jobs: list[Result], loops: list[Result]) -> Figure:
    """Return the ratio to a bare loop with a heap of `heapq`, by processor time: the job's slots have no other work."""
    ratios = tuple(loop["cpu_ns"] * count / job["cpu_s"] / 1e9 for job, loop in zip(jobs, loops, strict=True))
    what = "  to heapq in a bare loop, by CPU time"
    note = f"{median(loop['cpu_ns'] for loop in loops):,.0f} ns of CPU each in the loop"
    return Figure(
        row="r", what=what, value=median(ratios), unit="ratio", target=Target(least=0.5), of_runs=ratios, note=note
    )


def _both_s(result: Result) -> float:
    both_s: float = result["register_s"] + result["fire_s"]
    return both_s


def _timers(what: str, count: int, took_s: list[float], target: Target | None) -> Figure:
    rates = tuple(count / each_s for each_s in took_s)
    return Figure(row="r", what=what, value=median(rates), unit="timers/s", target=target, of_runs=rates)


Measure = Callable[[str, Effort, Say], list[Figure]]
MEASURES: dict[str, Measure] = {"o": big, "p": churn, "q": restores, "r": timers}
