"""The log lines and prints of slots that the driver keeps."""

from __future__ import annotations

from typing import Final

from headgate.ids import SlotIndex
from headgate.runtime.monitoring.progress import LINES_MAX, SlotLog
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, whole_number

SHOWN_MAX: Final = 500
"""The largest number of lines in one answer."""


def slots(asked: Question) -> Json:
    """Return the slots that have sent lines, with their numbers of lines; `kept` is the number kept for each slot."""
    logs = asked.job.view.progress.logs
    found = [{"slot": slot, "lines": log.count} for slot, log in sorted(logs.copy().items())]
    return {"slots": found, "kept": LINES_MAX, "of": asked.job.view.progress.placement.slots}


def lines(asked: Question) -> Json:
    """Return the newest lines of a slot, at most 500 and only lines after `?after=`, oldest first."""
    number = whole_number(asked.path["slot"])
    log = asked.job.view.progress.logs.get(SlotIndex(-1 if number is None else number), SlotLog())
    found = log.after(whole_number(asked.query.get("after", "")) or 0, SHOWN_MAX)
    return {
        "lines": [{"n": n, "at": line.wall_ms, "level": line.level, "text": line.text} for n, line in found],
        "next": found[-1][0] if found else log.count,
    }
