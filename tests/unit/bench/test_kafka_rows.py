"""The figures of the rows about Kafka."""

from __future__ import annotations

import pytest

from bench.kafka_rows import columns_figures, latency_figure, throughput_figures
from bench.peers import systems


def test_peers_are_compared_within_each_round() -> None:
    rates = [
        (systems.headgate("minicluster"), [100.0, 400.0, 300.0]),
        (systems.thread_mode(), [50.0, 100.0, 100.0]),
        (systems.tuned_process_mode(), [10.0, 10.0, 10.0]),
    ]
    ours, thread, tuned = throughput_figures(rates)
    assert ours.value == 300.0
    assert thread.of_runs == (2.0, 4.0, 3.0)
    assert thread.ok is True
    assert tuned.ok is None


def test_without_peers_there_is_only_our_own_rate() -> None:
    (ours,) = throughput_figures([(systems.headgate("minicluster"), [100.0])])
    assert ours.ok is None


@pytest.mark.parametrize(("p99_ms", "met"), [(1_100.0, True), (1_101.0, False)])
def test_latency_is_judged_above_the_interval(p99_ms: float, met: bool) -> None:
    figure = latency_figure(1_000, [500.0] * 98 + [p99_ms] * 2)
    assert figure.value == p99_ms - 1_000.0
    assert figure.ok is met


def test_a_dataframe_is_compared_within_each_round() -> None:
    ours, records, bare = columns_figures(
        {"columns": [100.0, 400.0, 300.0], "records": [20.0, 200.0, 60.0], "bare": [200.0, 400.0, 500.0]}
    )
    assert ours.value == 300.0
    assert (records.of_runs, records.ok) == ((5.0, 2.0, 5.0), True)
    assert (bare.of_runs, bare.ok) == ((0.5, 1.0, 0.6), False)
