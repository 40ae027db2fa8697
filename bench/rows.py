"""The rows of the benchmark: which trials each takes, in which order, and what is made of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from statistics import median
from typing import final

from bench import batch_rows, fault_rows, file_rows, frame_rows, kafka_rows, state_rows, stream_rows
from bench.effort import Effort
from bench.figures import Figure, Target
from bench.inputs import RECORDS
from bench.programs import bare_chain
from bench.startup import start_up_s
from bench.state_settings import CHANGELOG, INCREMENTAL, ROCKSDB, ROCKSDB_TENTH
from bench.timed_programs import WINDOWED, bare_pattern
from bench.trial import Result, Trial, run_trial


@final
@dataclass(slots=True)
class Bench:
    """One run of the benchmark. `say` is told what is measured next."""

    target: str
    effort: Effort
    say: Callable[[str], None]
    results: dict[str, list[Result]] = field(default_factory=dict)

    # --- (a) to (e), (k) to (n)

    def throughput(self, wanted: frozenset[str]) -> list[Figure]:
        """Measure the wanted rows of (a) to (e) and (k) to (n), in rounds in which the trials alternate."""
        trials = {name: trial for name, trial in self._throughput_trials().items() if needed(name, wanted)}
        for round_number in range(self.effort.rounds if trials else 0):
            for name, trial in trials.items():
                self.say(f"round {round_number + 1} of {self.effort.rounds}: {name}")
                self.results.setdefault(name, []).append(run_trial(trial))
        return [figure for figure in self._throughput_figures() if figure.row in wanted]

    def _throughput_trials(self) -> dict[str, Trial]:
        """Return the trials of a round: a job stands next to what it is compared with."""
        return {
            "bare count": self._loop("count"),
            "a": self._job("count", checkpoint_ms=1_000),
            "b": self._job("count"),
            "c": self._job("count", slots=2, checkpoint_ms=1_000),
            "bare chain": self._loop("chain"),
            "d": self._job("chain", checkpoint_ms=1_000),
            "ad chain": self._job("typed chain", checkpoint_ms=1_000),
            "rows": self._job("rows", checkpoint_ms=1_000),
            "ad rows": self._job("typed rows", checkpoint_ms=1_000),
            "bare join": self._loop("join"),
            "af": self._job("join", checkpoint_ms=1_000),
            "bare pattern": self._loop("pattern"),
            "ag": self._job("pattern", checkpoint_ms=1_000),
            **{f"bare windows-{per_key}": self._loop(f"windows-{per_key}") for per_key in WINDOWED},
            **{f"ae {per_key}": self._job(f"windows-{per_key}", checkpoint_ms=1_000) for per_key in WINDOWED},
            "bare words": self._loop("words"),
            "e": self._job("words", checkpoint_ms=1_000),
            "bare spread": self._loop("spread"),
            "k": self._spread(INCREMENTAL),
            "k log": self._spread(CHANGELOG),
            "l": self._spread(ROCKSDB | INCREMENTAL),
            "l log": self._spread(ROCKSDB | CHANGELOG),
            "m": self._spread(ROCKSDB_TENTH | INCREMENTAL),
        }

    def _spread(self, options: dict[str, str]) -> Trial:
        return replace(self._job("spread", checkpoint_ms=1_000), options=options)

    def _loop(self, program: str) -> Trial:
        return Trial(program=program, target="bare", seconds=self.effort.bare_s)

    def _job(self, program: str, slots: int = 1, checkpoint_ms: int | None = None) -> Trial:
        return Trial(
            program=program,
            target=self.target,
            seconds=self.effort.steady_s + self.effort.warm_up_s,
            warm_up_s=self.effort.warm_up_s,
            slots=slots,
            checkpoint_ms=checkpoint_ms,
        )

    def _throughput_figures(self) -> Iterator[Figure]:
        per_output = RECORDS / bare_chain()()
        yield from self._rate("a", "keyed count, one slot, checkpoints of 1 s", "a")
        yield from self._ratio("a", "  to the bare loop", ("a", "bare count"), Target(least=0.45))
        yield from self._rate("b", "the same without checkpoints", "b")
        yield from self._ratio("b", "  what checkpoints leave: (a) to (b)", ("a", "b"), Target(least=0.95))
        yield from self._rate("c", "keyed count, two slots, network key_by", "c")
        yield from self._ratio("c", "  to one slot", ("c", "a"), Target(least=1.3), slots=2)
        yield from self._rate("d", "map-filter chain", "d", per_output)
        yield from self._ratio("d", "  to the bare loop of both functions", ("d", "bare chain"), Target(least=0.5))
        yield from self._rate("ad", "the chain of (d) with a declared type of tuples", "ad chain", per_output)
        yield from self._ratio("ad", "  to (d)", ("ad chain", "d"), Target(least=0.4))
        yield from self._rate("ad", "a keyed map of rows with a declared type", "ad rows")
        yield from self._ratio("ad", "  to the same without a type", ("ad rows", "rows"), Target(least=0.7))
        yield from self._rate("e", "word count", "e", unit="words/s")
        yield from self._ratio("e", "  to the bare loop", ("e", "bare words"), None)
        for per_key in WINDOWED:
            bare, job = f"bare windows-{per_key}", f"ae {per_key}"
            yield from self._rate("ae", f"tumbling count, {per_key} records for each key and window", job, per_key)
            yield from self._ratio("ae", "  to the bare loop", (job, bare), Target(least=0.5))
        yield from self._rate("af", "interval join, three partners in the interval", "af", unit="pairs/s")
        yield from self._ratio("af", "  to the bare loop", ("af", "bare join"), Target(least=0.25))
        per_match = RECORDS / bare_pattern()() if "ag" in self.results else 0.0
        for figure in self._rate("ag", "a pattern of three steps", "ag", per_match):
            yield replace(figure, target=Target(least=200_000.0))
        yield from self._rate("k", "100,000 keys, hash map, increments of 1 s", "k")
        yield from self._ratio("k", "  to the bare loop", ("k", "bare spread"), Target(least=0.35))
        yield from self._rate("l", "the same on RocksDB, cache for all keys", "l")
        yield from self._ratio("l", "  to the hash map", ("l", "k"), Target(least=0.6))
        yield from self._rate("m", "the same on RocksDB, cache for 10 % of the keys", "m")
        yield from self._ratio("m", "  to the hash map", ("m", "k"), Target(least=0.15))
        yield from self._ratio("m", "  to the bare loop", ("m", "bare spread"), None)
        yield from self._ratio("n", "changelog on the hash map, to (k)", ("k log", "k"), Target(least=0.8))
        yield from self._ratio("n", "changelog on RocksDB, to (l)", ("l log", "l"), Target(least=0.8))

    def _rate(
        self, row: str, what: str, name: str, per_output: float = 1.0, unit: str = "records/s"
    ) -> Iterator[Figure]:
        results = self.results.get(name)
        if results is not None:
            rates = tuple(result["rate"] * per_output for result in results)
            cpu_ns = median(result["cpu_ns"] for result in results) / per_output
            note = f"{cpu_ns:.0f} ns of CPU each"
            yield Figure(row=row, what=what, value=median(rates), unit=unit, of_runs=rates, note=note)

    def _ratio(
        self, row: str, what: str, names: tuple[str, str], target: Target | None, slots: int = 1
    ) -> Iterator[Figure]:
        """Yield the median of the ratios within each round, which noise that comes and goes touches least.

        The note gives the ratio by processor time: what it would be if all slots had a core of their own.
        """
        if not all(name in self.results for name in names):
            return
        pairs = list(zip(*[self.results[name] for name in names], strict=True))
        ratios = tuple(one["rate"] / other["rate"] for one, other in pairs)
        by_cpu = median(slots * other["cpu_ns"] / one["cpu_ns"] for one, other in pairs)
        yield Figure(
            row=row,
            what=what,
            value=median(ratios),
            unit="ratio",
            target=target,
            of_runs=ratios,
            note=f"{by_cpu:.2f} by CPU time",
        )

    # --- (f) to (i)

    def latency(self) -> list[Figure]:
        """Measure (f): latency through one network key_by, from when a record is due to its output."""
        figures: list[Figure] = []
        for rate, most_ms in ((1_000, 2.0), (10_000, 5.0)):
            self.say(f"latency at {rate:,} records/s")
            result = run_trial(self._job(f"latency-{rate}", slots=2, checkpoint_ms=1_000))
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
        return figures

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


NEEDS = {
    "a": {"bare count", "a"},
    "b": {"a", "b"},
    "c": {"a", "c"},
    "d": {"bare chain", "d"},
    "e": {"bare words", "e"},
    "ad": {"d", "ad chain", "rows", "ad rows"},
    "ae": {f"{kind}{per_key}" for per_key in WINDOWED for kind in ("bare windows-", "ae ")},
    "af": {"bare join", "af"},
    "ag": {"bare pattern", "ag"},
    "k": {"bare spread", "k"},
    "l": {"k", "l"},
    "m": {"bare spread", "k", "m"},
    "n": {"k", "k log", "l", "l log"},
}
ROWS = (*"abcdefghiklmnopqrstuvwxyz", "aa", "ab", "ac", "ad", "ae", "af", "ag")
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


def measure(bench: Bench, wanted: frozenset[str]) -> list[Figure]:
    """Measure the wanted rows."""
    figures = bench.throughput(wanted)
    others = {"f": bench.latency, "g": bench.pause, "h": bench.recovery, "i": bench.start_up}
    for row, others_measure in others.items():
        if row in wanted:
            figures += others_measure()
    later = state_rows.MEASURES | fault_rows.MEASURES | file_rows.MEASURES | frame_rows.MEASURES | kafka_rows.MEASURES
    for row, state_measure in (later | batch_rows.MEASURES | stream_rows.MEASURES).items():
        if row in wanted:
            figures += state_measure(bench.target, bench.effort, bench.say)
    return figures
