"""The rows of the benchmark about Kafka: a keyed count from topic to topic, exactly once, next to PyFlink."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from bench import kafka_columns
from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.kafka_topics import PARTITIONS, Watch, fill, rate, watch
from bench.kafka_trips import RoundTrips
from bench.outputs import percentile
from bench.peers import systems
from bench.peers.systems import System, Topics
from bench.trial import run_module
from headgate.testing.servers.kafka import KafkaBroker
from headgate.testing.servers.kafka_download import missing_programs

CHECKPOINT_MS: Final = 1_000
OFTEN_MS: Final = 200
PER_SECOND: Final = 2_000.0
SOURCE: Final = "lines"


@contextmanager
def broker() -> Iterator[tuple[KafkaBroker, Path]]:
    """Start a broker for one row; yield it and a folder for what the systems leave."""
    with (
        tempfile.TemporaryDirectory(prefix="headgate-bench-", ignore_cleanup_errors=True) as folder,
        KafkaBroker(Path(folder) / "broker") as started,
    ):
        started.create_topic(SOURCE, PARTITIONS)
        yield started, Path(folder)


def throughput(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (x): the keyed count of what is in a topic already, on headgate and on PyFlink in turns."""
    if (missing := missing_programs()) is not None:
        say(f"left out (x): {missing}")
        return []
    measured = [systems.headgate(target)]
    if (missing := systems.missing_peers()) is not None:
        say(f"left out the peers of (x): {missing}")
    else:
        measured += [systems.process_mode(), systems.tuned_process_mode(), systems.thread_mode()]
    rates: list[tuple[System, list[float]]] = [(system, []) for system in measured]
    with broker() as (started, folder):
        say(f"{effort.lines:,} records into a topic")
        fill(started.bootstrap, SOURCE, effort.lines)
        for number in range(effort.peer_rounds):
            for system, found in rates:
                say(f"Kafka to Kafka, round {number + 1} of {effort.peer_rounds}: {system.name}")
                found.append(rate_of(system, started, folder / f"{system.key}-{number}", effort))
    return list(throughput_figures(rates))


def rate_of(system: System, started: KafkaBroker, folder: Path, effort: Effort) -> float:
    """Return the committed records a second of one run of a system."""
    folder.mkdir()
    topics = Topics(bootstrap=started.bootstrap, source=SOURCE, target=folder.name)
    started.create_topic(topics.target, PARTITIONS)
    with systems.running(system, topics, CHECKPOINT_MS, folder) as run:
        how = Watch(warm_up_s=effort.peer_warm_up_s, seconds=effort.peer_s, count=effort.lines)
        return rate(watch(topics.bootstrap, topics.target, how, run.check))


LEAST: Final = {"process": 10.0, "thread": 3.0}


def throughput_figures(rates: list[tuple[System, list[float]]]) -> Iterator[Figure]:
    """Yield the rate of headgate, which comes first, and its ratio to each peer within the rounds."""
    (_, ours), *peers = rates
    yield Figure(
        row="x",
        what="Kafka to Kafka, keyed count, exactly once, two slots",
        value=median(ours),
        unit="records/s",
        of_runs=tuple(ours),
    )
    for peer, theirs in peers:
        ratios = tuple(our / their for our, their in zip(ours, theirs, strict=True))
        least = LEAST.get(peer.key)
        yield Figure(
            row="x",
            what=f"  to {peer.name}",
            value=median(ratios),
            unit="ratio",
            target=None if least is None else Target(least=least),
            of_runs=ratios,
            note=f"{median(theirs):,.0f} records/s",
        )


def latency(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (y): from the production of a record to its visible count, with checkpoints each second and oftener."""
    if (missing := missing_programs()) is not None:
        say(f"left out (y): {missing}")
        return []
    figures = []
    for interval_ms in (CHECKPOINT_MS, OFTEN_MS):
        say(f"Kafka to Kafka, latency with checkpoints of {interval_ms} ms")
        with broker() as (started, folder):
            topics = Topics(bootstrap=started.bootstrap, source=SOURCE, target="counts")
            started.create_topic(topics.target, PARTITIONS)
            with systems.running(systems.headgate(target), topics, interval_ms, folder) as run:
                taken_ms = RoundTrips(topics, PER_SECOND, run.check).measure(effort.peer_s)
        figures.append(latency_figure(interval_ms, taken_ms))
    return figures


def latency_figure(interval_ms: int, taken_ms: list[float]) -> Figure:
    """Return what of the 99th percentile is above the interval of checkpoints."""
    p50, p99 = percentile(taken_ms, 50), percentile(taken_ms, 99)
    return Figure(
        row="y",
        what=f"p99 from produced to visible, above the {interval_ms} ms between checkpoints",
        value=p99 - interval_ms,
        unit="ms",
        target=Target(most=100.0),
        note=f"p50 {p50:,.0f} ms, p99 {p99:,.0f} ms of {len(taken_ms):,} records",
    )


def columns(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (an): JSON to JSON as a DataFrame, as records, and by a bare consumer and producer, on one core."""
    if (missing := missing_programs()) is not None:
        say(f"left out (an): {missing}")
        return []
    count = effort.lines // 10
    found: dict[str, list[float]] = {system: [] for system in kafka_columns.SYSTEMS}
    with broker() as (started, _):
        kafka_columns.fill(started.bootstrap, SOURCE, count)
        started.create_topic(EMPTY, PARTITIONS)
        for number in range(effort.peer_rounds):
            for system, rates in found.items():
                say(f"JSON from Kafka to Kafka, round {number + 1} of {effort.peer_rounds}: {system}")
                cpu_s = {}
                for source in (EMPTY, SOURCE):
                    given = {"system": system, "bootstrap": started.bootstrap, "source": source}
                    given["target"] = f"{system}-{number}-{source}"
                    started.create_topic(given["target"], PARTITIONS)
                    cpu_s[source] = run_module("bench.kafka_columns", given, COLUMNS_S_MAX)["cpu_s"]
                rates.append(count / (cpu_s[SOURCE] - cpu_s[EMPTY]))
    return columns_figures(found)


def columns_figures(rates: dict[str, list[float]]) -> list[Figure]:
    """Return the rate of the DataFrame by CPU time, and its ratios to the others within the rounds."""
    ours = rates["columns"]
    figures = [
        Figure(
            row="an",
            what="Kafka JSON, a filter, a computed column, to Kafka, as a DataFrame",
            value=median(ours),
            unit="messages/CPU s",
            of_runs=tuple(ours),
        )
    ]
    for system, name, least in (("records", "the same with records", 4.0), ("bare", "bare confluent-kafka", 0.7)):
        ratios = tuple(our / their for our, their in zip(ours, rates[system], strict=True))
        figures.append(
            Figure(
                row="an",
                what=f"  to {name}",
                value=median(ratios),
                unit="ratio",
                target=Target(least=least),
                of_runs=ratios,
                note=f"{median(rates[system]):,.0f} messages/CPU s",
            )
        )
    return figures


COLUMNS_S_MAX: Final = 600.0
EMPTY: Final = "nothing"
"""A topic without messages: what a run of it takes is the time to start."""

MEASURES = {"x": throughput, "y": latency, "an": columns}
