"""The rows of the benchmark about Kafka: a keyed count from topic to topic, exactly once, next to PyFlink."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.kafka_topics import PARTITIONS, Watch, fill, rate, watch
from bench.kafka_trips import RoundTrips
from bench.outputs import percentile
from bench.peers import systems
from bench.peers.systems import System, Topics
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


MEASURES = {"x": throughput, "y": latency}
