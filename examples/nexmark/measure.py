"""How many events each engine takes in a second of CPU time, by query: `make figures` writes docs/nexmark.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from dataclasses import asdict

from figures.engines import ROOT, WORK, Engine, QueryFailed, Running, engines, folder
from figures.page import Figure, Setting, page
from generator.events import Settings
from inputs import write_inputs
from queries import NAMES

EVENTS, EVENTS_OF_PYFLINK = 1_000_000, 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure all engines that are there, and write docs/nexmark.md.")
    parser.add_argument("queries", nargs="*", metavar="QUERY", help="such as q5: prints what is measured; all if none")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--events-of-pyflink", type=int, default=EVENTS_OF_PYFLINK)
    given = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    measured = engines(given.events, given.events_of_pyflink)
    for engine in measured:
        for events in (engine.few, engine.events):
            write_inputs(folder(events), events, Settings())
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    setting = Setting(machine, {engine.name: engine.events for engine in measured})
    figures = [figure for engine in measured for figure in measure(engine, given.queries or NAMES)]
    if not given.queries:
        (WORK / "figures.json").write_text(json.dumps([asdict(setting), *map(asdict, figures)]))
        (ROOT / "docs" / "nexmark.md").write_text(page(setting, figures))


def measure(engine: Engine, queries: list[str]) -> list[Figure]:
    """Run each query over many events, which does not count, then over few, and over many again."""
    figures = []
    running = Running(engine)
    for query in queries:
        started_s = time.monotonic()
        try:
            if query in engine.cannot:
                raise QueryFailed(engine.cannot[query])
            running.run(query, engine.events if engine.is_compiled else engine.few)
            few_s, many_s = (running.run(query, events) for events in (engine.few, engine.events))
            if many_s <= few_s:
                raise QueryFailed(
                    f"took {few_s:.1f} s for {engine.few:,} events, but {many_s:.1f} s for {engine.events:,}"
                )
            figure = Figure(engine.name, query, (engine.events - engine.few) / (many_s - few_s), few_s, None)
        except QueryFailed as failure:
            figure = Figure(engine.name, query, 0.0, 0.0, str(failure))
            if query not in engine.cannot:
                running.close()
                running = Running(engine)
        figures.append(figure)
        told = figure.failure or f"{figure.rate:12,.0f} events in a second of CPU time"
        print(f"{engine.name:<10} {query:<4} {told}  ({time.monotonic() - started_s:.0f} s)", flush=True)
    running.close()
    return figures


if __name__ == "__main__":
    main()
