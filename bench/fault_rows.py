"""The rows of the benchmark about checkpoints under way: under back-pressure, often, and recovery with some state."""

from __future__ import annotations

from statistics import median

from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.trial import Result, Trial, run_trial

UNALIGNED = {"execution.checkpointing.unaligned.enabled": "true"}


def durations_ms(result: Result, skip: int = 0) -> tuple[float, ...]:
    """Return how long the checkpoints took end to end, but for the first ones."""
    return tuple(checkpoint["duration_ms"] for checkpoint in result["checkpoints"])[skip:]


def back_pressure(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (s): a checkpoint while all channels to a slow function are full, aligned and unaligned."""

    def clogged(seconds: float, options: dict[str, str]) -> Result:
        trial = Trial(
            program="clogged",
            target=target,
            seconds=seconds,
            warm_up_s=2.0,
            slots=2,
            checkpoint_ms=200,
            options=options,
        )
        return run_trial(trial)

    say("checkpoints under back-pressure, aligned")
    aligned = clogged(4.0 * effort.steady_s, {})
    say("checkpoints under back-pressure, unaligned")
    unaligned = clogged(effort.steady_s, UNALIGNED)
    aligned_ms = median(durations_ms(aligned, 1) or durations_ms(aligned))
    unaligned_ms = durations_ms(unaligned, 2)
    size_max = max(checkpoint["size_bytes"] for checkpoint in unaligned["checkpoints"])
    return [
        Figure(
            row="s",
            what="unaligned checkpoint under back-pressure, to the aligned one's time",
            value=median(unaligned_ms) / aligned_ms,
            unit="ratio",
            target=Target(most=1 / 20),
            of_runs=tuple(each / aligned_ms for each in unaligned_ms[:10]),
            note=f"{median(unaligned_ms):.0f} ms and {aligned_ms:,.0f} ms; with what is in flight {size_max:,} bytes",
        )
    ]


def small_state(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (t): a checkpoint of small state end to end, from trigger to durable manifest, on four slots."""
    say("checkpoints of small state on four slots")
    result = run_trial(
        Trial(program="latency-1000", target=target, seconds=effort.steady_s + 2.0, slots=4, checkpoint_ms=200)
    )
    took_ms = sorted(durations_ms(result, 2))
    return [
        Figure(
            row="t",
            what="checkpoint of small state, four slots, end to end, p99",
            value=took_ms[min(len(took_ms) - 1, int(0.99 * len(took_ms)))],
            unit="ms",
            target=Target(most=100.0),
            note=f"median {median(took_ms):.1f} ms of {len(took_ms)}",
        )
    ]


def often(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (u): throughput with a checkpoint every 100 ms, to that without any."""
    ratios = []
    for number in range(effort.rounds):
        rates = []
        for checkpoint_ms in (100, None):
            say(f"checkpoints every {checkpoint_ms} ms, round {number + 1} of {effort.rounds}")
            trial = Trial(
                program="count",
                target=target,
                seconds=effort.steady_s + effort.warm_up_s,
                warm_up_s=effort.warm_up_s,
                slots=2,
                checkpoint_ms=checkpoint_ms,
            )
            rates.append(run_trial(trial)["rate"])
        ratios.append(rates[0] / rates[1])
    return [
        Figure(
            row="u",
            what="throughput with a checkpoint every 100 ms, two slots, to none",
            value=median(ratios),
            unit="ratio",
            target=Target(least=0.9),
            of_runs=tuple(ratios),
        )
    ]


def times_of(
    program: str, target: str, failures: tuple[str, ...], options: dict[str, str], strangers: int = 0
) -> tuple[float, ...]:
    """Return the seconds that a job of two slots took over each of the failures, one after the other."""
    trial = Trial(
        program=program,
        target=target,
        seconds=600.0,
        slots=2,
        checkpoint_ms=1_000,
        failures=failures,
        options=options,
        strangers=strangers,
    )
    return tuple(run_trial(trial)["recovery_s"])


def recovery(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (v): from a failure to the first new output, with 100 MB of state in two slots."""
    figures: list[Figure] = []
    for kind, what, most_s in (("exception", "an exception", 0.3), ("kill", "SIGKILL of a slot", 3.0)):
        say(f"recovery of 100 MB from {what}")
        times_s = times_of("held", target, (kind,) * effort.failures, RECOVERY)
        figures.append(
            Figure(
                row="v",
                what=f"recovery of 100 MB from {what}",
                value=median(times_s),
                unit="s",
                target=Target(most=most_s),
                of_runs=times_s,
            )
        )
    return figures


def rescaled(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (al): the longest gap in the output of a job with 100 MB of state that grows to three slots and back."""
    say("rescaling from two slots to three and back")
    gaps_s = times_of("busy", target, ("rescale to 3", "rescale to 2") * effort.failures, RECOVERY)
    return [
        Figure(
            row="al",
            what=f"rescaling of 100 MB at 100,000 records/s, {change}, longest gap in the output",
            value=max(of_runs),
            unit="s",
            target=Target(most=1.5),
            of_runs=of_runs,
        )
        for change, of_runs in (("2 to 3 slots", gaps_s[::2]), ("3 to 2 slots", gaps_s[1::2]))
    ]


def besieged(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (ac): from SIGKILL of a slot to the first new output, with strangers at the ports of all processes."""
    say(f"recovery from SIGKILL of a slot, {STRANGERS:,} strangers")
    times_s = times_of("fragile", target, ("kill",) * effort.failures, {}, STRANGERS)
    return [
        Figure(
            row="ac",
            what=f"recovery from SIGKILL of a slot, {STRANGERS:,} strangers",
            value=median(times_s),
            unit="s",
            target=Target(most=5.0),
            of_runs=times_s,
        )
    ]


STRANGERS = 3_000
RECOVERY = {"execution.checkpointing.incremental": "true"}

MEASURES = {"s": back_pressure, "t": small_state, "u": often, "v": recovery, "ac": besieged, "al": rescaled}
