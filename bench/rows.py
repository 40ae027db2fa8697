"""The rows of the benchmark: which trials each takes, in which order, and what is made of their results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import final

from bench import (
    async_rows,
    batch_rows,
    event_time_rows,
    fault_rows,
    file_rows,
    frame_rows,
    kafka_rows,
    page_rows,
    state_rows,
    stream_rows,
)
from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.inputs import RECORDS
from bench.ping_pong import PingPong, run_ping_pong
from bench.programs import bare_chain
from bench.rounds import Rounds, bare, steady
from bench.startup import start_up_s
from bench.state_settings import CHANGELOG, INCREMENTAL, ROCKSDB, ROCKSDB_TENTH
from bench.trial import Result, Trial, run_trial


@final
@dataclass(slots=True)
class Bench:
    """One run of the benchmark. `say` is told what is measured next."""

    target: str
    effort: Effort
    say: Say

    # --- (a) to (e), (k) to (n)

    def throughput(self, wanted: frozenset[str]) -> list[Figure]:
        """Measure the wanted rows of (a) to (e) and (k) to (n), in rounds in which the trials alternate."""
        trials = {name: trial for name, trial in self._throughput_trials().items() if needed(name, wanted)}
        rounds = Rounds(self.say)
        rounds.run(self.effort.rounds, trials)
        return [figure for figure in throughput_figures(rounds) if figure.row in wanted]

    def _throughput_trials(self) -> dict[str, Trial]:
        """Return the trials of a round: a job stands next to what it is compared with."""
        return {
            "bare count": self._loop("count"),
            "a": self._job("count"),
            "b": self._job("count", checkpoint_ms=None),
            "c": self._job("count", slots=2),
            "c tls": replace(self._job("count", slots=2), options={"headgate.network.tls.enabled": "true"}),
            "bare chain": self._loop("chain"),
            "d": self._job("chain"),
            "ad chain": self._job("typed chain"),
            "rows": self._job("rows"),
            "ad rows": self._job("typed rows"),
            "bare words": self._loop("words"),
            "e": self._job("words"),
            "bare spread": self._loop("spread"),
            "k": self._spread(INCREMENTAL),
            "k log": self._spread(CHANGELOG),
            "l": self._spread(ROCKSDB | INCREMENTAL),
            "l log": self._spread(ROCKSDB | CHANGELOG),
            "m": self._spread(ROCKSDB_TENTH | INCREMENTAL),
        }

    def _spread(self, options: dict[str, str]) -> Trial:
        return replace(self._job("spread"), options=options)

    def _loop(self, program: str) -> Trial:
        return bare(program, self.effort)

    def _job(self, program: str, slots: int = 1, checkpoint_ms: int | None = 1_000) -> Trial:
        return steady(program, self.target, self.effort, slots, checkpoint_ms)

    # --- (f) to (i)

    def latency(self) -> list[Figure]:
        """Measure (f): latency through one network key_by, from when a record is due to its output."""
        figures: list[Figure] = []
        p99_ms: dict[int, float] = {}
        for rate, most_ms in ((1_000, 2.0), (10_000, 5.0)):
            self.say(f"latency at {rate:,} records/s")
            result = run_trial(self._job(f"latency-{rate}", slots=2))
            p99_ms[rate] = result["p99_ms"]
            what = f"latency, network key_by, {rate:,} records/s"
            note = f"{result['latencies']:,} records that crossed; p99.9 {result['p99.9_ms']:.2f} ms"
            figures.append(Figure(row="f", what=f"{what}, p50", value=result["p50_ms"], unit="ms"))
            figures.append(
                Figure(
                    row="f",
                    what=f"{what}, p99",
                    value=result["p99_ms"],
                    unit="ms",
                    target=Target(most=most_ms),
                    note=note,
                )
            )
        return [*figures, self._to_a_bare_socket(p99_ms[1_000])]

    def _to_a_bare_socket(self, p99_ms: float) -> Figure:
        """Compare the p99 at 1,000 records/s with that of round trips at the same rate."""
        self.say("round trips of a bare socket")
        bare = run_ping_pong(PingPong(rate=1_000.0, seconds=self.effort.steady_s))
        return Figure(
            row="f",
            what="  p99 at 1,000/s, to the p99 of round trips through a bare socket",
            value=p99_ms / bare["p99_ms"],
            unit="ratio",
            target=Target(most=3.0),
            note=f"{bare['p99_ms']:.3f} ms, p50 {bare['p50_ms']:.3f} ms",
        )

    def pause(self) -> list[Figure]:
        """Measure (g): how long a checkpoint of a million keys stops the loop."""
        self.say("pause of a checkpoint with a million keys")
        warm_up_s = self.effort.warm_up_s + 4.0
        result = run_trial(
            Trial(
                program="million",
                target=self.target,
                seconds=self.effort.steady_s + warm_up_s,
                warm_up_s=warm_up_s,
                checkpoint_ms=1_500,
            )
        )
        pauses, note = full_checkpoints(result)
        what = "synchronous pause of a checkpoint, 1 M keys"
        return [
            Figure(
                row="g", what=what, value=max(pauses), unit="ms", target=Target(most=20.0), of_runs=pauses, note=note
            ),
            Figure(row="g", what="  longest gap in output, all causes", value=result["pause_ms"], unit="ms"),
        ]

    def recovery(self) -> list[Figure]:
        """Measure (h): from a failure to the first new output."""
        figures: list[Figure] = []
        for kind, what, most_s in (("exception", "an exception", 0.5), ("kill", "SIGKILL of a slot", 5.0)):
            self.say(f"recovery from {what}")
            trial = Trial(
                program="fragile",
                target=self.target,
                seconds=600.0,
                slots=2,
                checkpoint_ms=1_000,
                failures=(kind,) * self.effort.failures,
            )
            times_s = tuple(run_trial(trial)["recovery_s"])
            figures.append(
                Figure(
                    row="h",
                    what=f"recovery from {what}",
                    value=median(times_s),
                    unit="s",
                    target=Target(most=most_s),
                    of_runs=times_s,
                )
            )
        return figures

    def start_up(self) -> list[Figure]:
        """Measure (i): from `python job.py` to the first output, above the start of a SparkSession."""
        sessions, jobs = [], []
        for number in range(self.effort.failures):
            self.say(f"start-up, {number + 1} of {self.effort.failures}")
            sessions.append(start_up_s("session"))
            jobs.append(start_up_s("job"))
        above = tuple(job - session for job, session in zip(jobs, sessions, strict=True))
        note = f"SparkSession alone {median(sessions):.2f} s"
        return [
            Figure(
                row="i", what="start-up to first output", value=median(jobs), unit="s", of_runs=tuple(jobs), note=note
            ),
            Figure(
                row="i",
                what="  above the start of a SparkSession",
                value=median(above),
                unit="s",
                target=Target(most=3.0),
                of_runs=above,
            ),
        ]


def throughput_figures(rounds: Rounds) -> Iterator[Figure]:
    """Yield the figures of the trials that were run."""
    per_output = RECORDS / bare_chain()()
    yield from rounds.rate("a", "keyed count, one slot, checkpoints of 1 s", "a")
    yield from rounds.ratio("a", "  to the bare loop", ("a", "bare count"), Target(least=0.45))
    yield from rounds.rate("b", "the same without checkpoints", "b")
    yield from rounds.ratio("b", "  what checkpoints leave: (a) to (b)", ("a", "b"), Target(least=0.95))
    yield from rounds.rate("c", "keyed count, two slots, network key_by", "c")
    yield from rounds.ratio("c", "  to one slot", ("c", "a"), Target(least=1.3), slots=2)
    yield from rounds.ratio("c", "  under TLS, to without", ("c tls", "c"))
    yield from rounds.rate("d", "map-filter chain", "d", per_output)
    yield from rounds.ratio("d", "  to the bare loop of both functions", ("d", "bare chain"), Target(least=0.5))
    yield from rounds.rate("ad", "the chain of (d) with a declared type of tuples", "ad chain", per_output)
    yield from rounds.ratio("ad", "  to (d)", ("ad chain", "d"), Target(least=0.4))
    yield from rounds.rate("ad", "a keyed map of rows with a declared type", "ad rows")
    yield from rounds.ratio("ad", "  to the same without a type", ("ad rows", "rows"), Target(least=0.7))
    yield from rounds.rate("e", "word count", "e", unit="words/s")
    yield from rounds.ratio("e", "  to the bare loop", ("e", "bare words"))
    yield from rounds.rate("k", "100,000 keys, hash map, increments of 1 s", "k")
    yield from rounds.ratio("k", "  to the bare loop", ("k", "bare spread"), Target(least=0.35))
    yield from rounds.rate("l", "the same on RocksDB, cache for all keys", "l")
    yield from rounds.ratio("l", "  to the hash map", ("l", "k"), Target(least=0.6))
    yield from rounds.rate("m", "the same on RocksDB, cache for 10 % of the keys", "m")
    yield from rounds.ratio("m", "  to the hash map", ("m", "k"), Target(least=0.33))
    yield from rounds.ratio("m", "  to the bare loop", ("m", "bare spread"))
    yield from rounds.ratio("n", "changelog on the hash map, to (k)", ("k log", "k"), Target(least=0.8))
    yield from rounds.ratio("n", "changelog on RocksDB, to (l)", ("l log", "l"), Target(least=0.8))


NEEDS = {
    "a": {"bare count", "a"},
    "b": {"a", "b"},
    "c": {"a", "c", "c tls"},
    "d": {"bare chain", "d"},
    "e": {"bare words", "e"},
    "ad": {"d", "ad chain", "rows", "ad rows"},
    "k": {"bare spread", "k"},
    "l": {"k", "l"},
    "m": {"bare spread", "k", "m"},
    "n": {"k", "k log", "l", "l log"},
}
ROWS = (
    *"abcdefghiklmnopqrstuvwxyz",
    "aa",
    "ab",
    "ac",
    "ad",
    "ae",
    "af",
    "ag",
    "ah",
    "ai",
    "aj",
    "ak",
    "al",
    "am",
    "an",
)
"""There is no (j) here: that is `python -m bench.memory`."""


def needed(name: str, wanted: frozenset[str]) -> bool:
    """Return whether a throughput trial is needed for any of the wanted rows."""
    return any(name in NEEDS.get(row, ()) for row in wanted)


def full_checkpoints(result: Result) -> tuple[tuple[float, ...], str]:
    """Return the pauses of the checkpoints that held all keys, and a note on them."""
    size_max = max(checkpoint["size_bytes"] for checkpoint in result["checkpoints"])
    full = [checkpoint for checkpoint in result["checkpoints"] if checkpoint["size_bytes"] > 0.95 * size_max]
    whole_s = median(checkpoint["duration_ms"] for checkpoint in full) / 1_000.0
    note = f"{len(full)} checkpoints of {size_max / 1e6:.0f} MB, each {whole_s:.1f} s in all"
    return tuple(checkpoint["sync_ms_max"] for checkpoint in full), note


MODULES = (
    state_rows,
    fault_rows,
    file_rows,
    frame_rows,
    kafka_rows,
    page_rows,
    batch_rows,
    stream_rows,
    event_time_rows,
    async_rows,
)


def measure(bench: Bench, wanted: frozenset[str]) -> list[Figure]:
    """Measure the wanted rows."""
    figures = bench.throughput(wanted)
    others = {"f": bench.latency, "g": bench.pause, "h": bench.recovery, "i": bench.start_up}
    for row, others_measure in others.items():
        if row in wanted:
            figures += others_measure()
    for module in MODULES:
        for row, measure_row in module.MEASURES.items():
            if row in wanted:
                figures += measure_row(bench.target, bench.effort, bench.say)
    return figures
