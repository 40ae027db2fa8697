"""A vertex in detail: its subtasks, sorted and bounded, the skew of their work, and the metrics of its functions.

The size of every answer is bounded, however many subtasks and metrics there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Final

from headgate.functions.metrics import MetricReport
from headgate.ids import SubtaskId
from headgate.runtime.control.subtask_metrics import SubtaskMetrics
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, whole_number

ROWS_MAX: Final = 100
METRICS_MAX: Final = 200
_MS: Final = 1000.0
_SORTS: Final = ("subtask", "busy", "backPressured", "idle", "in", "out", "recordsIn", "watermarkLag", "stateBytes")


def subtasks(asked: Question) -> Json:
    """Return at most 100 subtasks of a vertex, the greatest by `?sort=` first, and the skew of their records."""
    vertex, progress = asked.vertex(), asked.job.view.progress
    newest = progress.statistics.latest.completed
    state = {} if newest is None else newest.subtasks.copy()
    rows = []
    for subtask in progress.placement.instances_of(vertex.id):
        figures = state.get(subtask)
        bytes_ = None if figures is None else figures.state_bytes
        slot = progress.placement.slot_of(subtask)
        rows.append(_row(subtask, slot, progress.subtasks.get(subtask), bytes_))
    by = asked.query.get("sort", "subtask")
    if by in _SORTS[1:]:
        rows.sort(key=lambda row: -1 if row[by] is None else row[by], reverse=True)
    shown = rows[: min(ROWS_MAX, whole_number(asked.query.get("limit", "")) or ROWS_MAX)]
    return {"total": len(rows), "subtasks": shown, "skew": skew(row["in"] for row in rows)}


def _row(subtask: SubtaskId, slot: int, own: SubtaskMetrics | None, state_bytes: int | None) -> Json:
    row: Json = {"subtask": subtask.index, "slot": slot, "stateBytes": state_bytes}
    if own is None:
        unknown = ("busy", "backPressured", "idle", "in", "out", "recordsIn", "recordsOut", "watermark", "watermarkLag")
        return row | dict.fromkeys(unknown)
    return row | {
        "busy": round(own.rates.time.busy_ms / _MS, 3),
        "backPressured": round(own.rates.time.back_pressured_ms / _MS, 3),
        "idle": round(own.rates.time.idle_ms / _MS, 3),
        "in": round(own.rates.records_in, 1),
        "out": round(own.rates.records_out, 1),
        "recordsIn": own.traffic.records_in,
        "recordsOut": own.traffic.records_out,
        "watermark": own.watermark_out if own.watermark_in is None else own.watermark_in,
        "watermarkLag": own.watermark_lag_ms,
    }


def skew(rates: Iterable[float | None]) -> Json | None:
    """Return the subtask with the most records per second and its share; None for one subtask or no records."""
    known = [rate or 0.0 for rate in rates]
    total = sum(known)
    if len(known) < 2 or total <= 0:
        return None
    most = max(known)
    return {"subtask": known.index(most), "share": round(most / total, 3), "even": round(1 / len(known), 3)}


def user_metrics(asked: Question) -> Json:
    """Return at most 200 metrics of a vertex's functions, each with its sum, minimum and maximum over the subtasks."""
    view, vertex = asked.job.view, asked.vertex()
    names = {operator.uid: operator.name for operator in vertex.operators}
    found: dict[tuple[str, str, str], list[float]] = {}
    for subtask, own in view.progress.subtasks.items():
        if subtask.vertex == vertex.id:
            for uid, report in own.user:
                for suffix, value in report.values.items():
                    found.setdefault((names.get(uid, uid), _path(report, suffix), report.kind), []).append(value)
    rows = [
        {
            "operator": operator,
            "name": name,
            "kind": kind,
            "sum": _finite(sum(values)),
            "min": _finite(min(values)),
            "max": _finite(max(values)),
        }
        for (operator, name, kind), values in sorted(found.items())
    ]
    return {"total": len(rows), "metrics": rows[:METRICS_MAX]}


def _finite(value: float) -> float | None:
    """Return the value, or None for infinity and NaN, which JSON lacks: gauges may report any value."""
    return value if isfinite(value) else None


def _path(report: MetricReport, suffix: str) -> str:
    return ".".join([*report.groups, *report.labels.values(), report.name, *([suffix] if suffix else [])])
