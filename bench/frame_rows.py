"""The row of the benchmark about DataFrames: ten million rows of one, read by one slot."""

from __future__ import annotations

from statistics import median

from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.inputs import FRAME_ROWS
from bench.trial import Trial, run_trial

READ_S_MAX = 120.0
"""How long a slot may take for them, on a machine that does other things as well."""


def rows_of_a_frame(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (aa): a DataFrame into a keyed map that does nothing, next to the same of rows in memory."""
    memory = Trial(
        program="rows", target=target, seconds=effort.steady_s + effort.warm_up_s, warm_up_s=effort.warm_up_s
    )
    frame = Trial(program="frame", target=target, seconds=READ_S_MAX, warm_up_s=effort.warm_up_s)
    rates, ratios, by_cpu, whole, written_s = [], [], [], [], []
    for number in range(effort.rounds):
        say(f"rows of a DataFrame, round {number + 1} of {effort.rounds}")
        own, ours = run_trial(memory), run_trial(frame)
        rates.append(ours["rate"])
        ratios.append(ours["rate"] / own["rate"])
        by_cpu.append(own["cpu_ns"] / ours["cpu_ns"])
        written_s.append(ours["first_s"] - own["first_s"])
        whole.append(ours["records"] / (ours["last_s"] - own["first_s"]) / own["rate"])
    return [
        Figure(
            row="aa",
            what="from_spark of 10 M rows into a keyed map that does nothing, one slot",
            value=median(rates),
            unit="records/s",
            of_runs=tuple(rates),
            note=f"Spark wrote the {FRAME_ROWS:,} rows in {median(written_s):.1f} s before",
        ),
        Figure(
            row="aa",
            what="  to the same of rows in memory",
            value=median(ratios),
            unit="ratio",
            target=Target(least=0.5),
            of_runs=tuple(ratios),
            note=f"{median(whole):.2f} if the time in which Spark wrote them counts; {median(by_cpu):.2f} by CPU time",
        ),
    ]


MEASURES = {"aa": rows_of_a_frame}
