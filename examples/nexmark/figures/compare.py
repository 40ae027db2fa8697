"""Whole results of all engines, compared with those of Spark SQL's batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from figures.engines import WORK, Engine
from figures.running import QueryFailed, Running
from figures.written import read
from generator.events import Settings, events
from generator.ids import TOTAL
from inputs import write_inputs, write_parts
from results import Rows, difference, settled

FOLDER = WORK / "events-to-compare"
EVENTS = 20_000
SETTINGS = Settings(seed=7, events_per_second=200)
ROW_GROUP = 2_000
AN_HOUR_LATER = EVENTS + 3_600 * SETTINGS.events_per_second

NOT_COMPARED = {
    ("Flink SQL", "q12"): "windows that the clock has not closed are lost when the input ends",
}
REPLACED: dict[tuple[str, str], Callable[[tuple[Any, ...]], Any]] = {("Flink SQL", "q9"): itemgetter(0)}
"""Where a change comes without the result that it takes the place of: what says which one that is."""
DECIDED: dict[tuple[str, str], Callable[[tuple[Any, ...]], Any]] = {
    ("Flink SQL", "q9"): itemgetter(0, 12),
    ("Flink SQL", "q18"): itemgetter(0, 1, 5),
    ("Flink SQL", "q19"): itemgetter(0, 2, 7),
}
"""Where a query leaves open which of several equal rows comes first: the columns that it decides."""


def write_events_to_compare() -> None:
    """Write the events that results are compared for."""
    write_inputs(FOLDER, EVENTS, SETTINGS, ROW_GROUP)
    write_parts(FOLDER)
    write_closing(FOLDER)


def write_closing(folder: Path) -> None:
    """Write events of an hour later, which close the windows of engines that wait for some."""
    (folder / "closing").mkdir(exist_ok=True)
    pq.write_table(events(AN_HOUR_LATER, TOTAL, SETTINGS), folder / "closing" / "events.parquet")


@dataclass(frozen=True)
class Comparison:
    """What became of a query: `differs` says how its results do, `left_out` why they were not compared."""

    engine: str
    query: str
    differs: str | None = None
    left_out: str | None = None

    def __str__(self) -> str:
        told = self.differs or (f"not compared: {self.left_out}" if self.left_out else "the same results")
        return f"{self.engine:<16} {self.query:<4} {told}"


def compare(engine: Engine, queries: Sequence[str], expected: dict[str, Rows]) -> Iterator[Comparison]:
    """Yield how the results of each query compare with those that are expected."""
    for query in queries:
        if (why := engine.cannot.get(query) or NOT_COMPARED.get((engine.name, query))) is not None:
            yield Comparison(engine.name, query, left_out=why)
    able = [query for query in queries if query not in engine.cannot and (engine.name, query) not in NOT_COMPARED]
    for query, found in results(engine, able):
        differs = found if isinstance(found, str) else unlike(engine.name, query, found, expected[query])
        yield Comparison(engine.name, query, differs=differs)


def unlike(engine: str, query: str, found: Rows, expected: Rows) -> str | None:
    """Return what differs in the columns that the query decides; None if nothing does."""
    decided = DECIDED.get((engine, query), tuple)
    rows = list(found.elements())
    if (place := REPLACED.get((engine, query))) is not None:
        rows = list({place(row): row for row in rows}.values())
    of_stream = settled(query, rows)
    return difference(*(Counter(map(decided, each.elements())) for each in (of_stream, expected)))


def results(engine: Engine, queries: Sequence[str]) -> Iterator[tuple[str, Rows | str]]:
    """Yield the results of each query, or why there are none."""
    running, written = Running(engine), WORK / "results.jsonl"
    try:
        for query in queries:
            written.write_text("")
            try:
                running.run(query, FOLDER, written)
                yield query, read(written)
            except QueryFailed as failure:
                running.close()
                yield query, str(failure)
    finally:
        running.close()
