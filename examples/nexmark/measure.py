"""How many events each engine takes in a second of CPU time: `make figures` writes docs/internals/nexmark.md."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence

from figures.compare import compare, results, write_events_to_compare
from figures.engines import ROOT, WORK, Engine, engines, folder
from figures.kept import Kept
from figures.page import Figure, Setting, page
from figures.running import QueryFailed, Running
from generator.events import Settings
from inputs import write_inputs, write_parts
from queries import NAMES

EVENTS, EVENTS_OF_PYFLINK = 1_000_000, 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what engines are there, and write docs/internals/nexmark.md.")
    parser.add_argument("queries", nargs="*", metavar="QUERY", help="such as q5: prints what is measured; all if none")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--events-of-pyflink", type=int, default=EVENTS_OF_PYFLINK)
    parser.add_argument("--compare", action="store_true", help="compare whole results instead, over few events")
    parser.add_argument("--anew", action="store_true", help="measure all, also after an interrupted run")
    given = parser.parse_args()
    if unknown := sorted(set(given.queries) - set(NAMES)):
        parser.error(f"there is no {unknown[0]}: queries are {NAMES[0]} to {NAMES[-1]}")
    WORK.mkdir(exist_ok=True)
    measured, queries = engines(given.events, given.events_of_pyflink), given.queries or NAMES
    if given.compare:
        sys.exit(compare_all(measured, queries))
    write_events(measured)
    if given.queries:
        for engine in measured:
            list(measure(engine, queries))
    else:
        measure_all(measured, given.anew)


def compare_all(measured: Sequence[Engine], queries: Sequence[str]) -> int:
    """Print how the results of each engine compare with those of Spark SQL's batches; return how many differ."""
    write_events_to_compare()
    batch = next(engine for engine in measured if engine.name == "Spark SQL")
    expected = {query: found for query, found in results(batch, queries) if not isinstance(found, str)}
    differ = 0
    for engine in measured:
        for comparison in compare(engine, queries, expected) if engine is not batch else ():
            print(comparison, flush=True)
            differ += comparison.differs is not None
    return differ


def write_events(measured: Sequence[Engine]) -> None:
    for engine in measured:
        for events in (engine.few, engine.events):
            write_inputs(folder(events), events, Settings())
            write_parts(folder(events))


def measure_all(measured: Sequence[Engine], anew: bool) -> None:
    """Measure all queries on all engines, but for those that an interrupted run has measured; write the page."""
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    setting = Setting(machine, {engine.name: engine.events for engine in measured})
    path = WORK / "measured.jsonl"
    if anew:
        path.unlink(missing_ok=True)
    kept = Kept(path, setting)
    if kept.figures:
        print(f"{len(kept.figures)} figures are there from a run that was interrupted: --anew measures them again")
    for engine in measured:
        for figure in measure(engine, [query for query in NAMES if not kept.has(engine.name, query)]):
            kept.add(figure)
    (ROOT / "docs" / "internals" / "nexmark.md").write_text(page(setting, kept.figures))
    path.rename(WORK / "figures.jsonl")


def measure(engine: Engine, queries: Sequence[str]) -> Iterator[Figure]:
    """Yield the figure of each query."""
    running = Running(engine)
    try:
        for query in queries:
            started_s = time.monotonic()
            try:
                figure = measured_once(engine, running, query)
            except QueryFailed as failure:
                figure = Figure(engine.name, query, 0.0, 0.0, str(failure))
                if query not in engine.cannot:
                    running.close()
            what = figure.failure or f"{figure.rate:12,.0f} events in a second of CPU time"
            print(f"{engine.name:<16} {query:<4} {what}  ({time.monotonic() - started_s:.0f} s)", flush=True)
            yield figure
    finally:
        running.close()


def measured_once(engine: Engine, running: Running, query: str) -> Figure:
    """Run a query over many events, which does not count, then over few, and over many again."""
    if query in engine.cannot:
        raise QueryFailed(engine.cannot[query])
    running.run(query, folder(engine.events if engine.is_compiled else engine.few))
    few_s, many_s = (running.run(query, folder(events)) for events in (engine.few, engine.events))
    if many_s <= few_s:
        raise QueryFailed(f"took {few_s:.1f} s for {engine.few:,} events, but {many_s:.1f} s for {engine.events:,}")
    return Figure(engine.name, query, (engine.events - engine.few) / (many_s - few_s), few_s, None)


if __name__ == "__main__":
    main()
