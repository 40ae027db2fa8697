"""Metrics that user functions keep."""

from __future__ import annotations

import logging

import pytest

from headgate.errors import ProgramError
from headgate.functions.api import MapFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.metrics import MetricGroup, MetricReport, Scope
from headgate.operators.plain_functions import MapFactory
from headgate.testing.harness import OperatorHarness


def reports(group: MetricGroup, now_ms: float = 0.0) -> dict[str, MetricReport]:
    return {report.name: report for report in group.report(now_ms)}


def test_a_counter_goes_up_and_down() -> None:
    group = MetricGroup()
    counter = group.counter("open")
    counter.inc()
    counter.inc(5)
    counter.dec()
    counter.dec(2)
    assert counter.get_count() == 3
    assert reports(group)["open"].values == {"": 3}


def test_a_meter_has_the_rate_of_its_time_span() -> None:
    group = MetricGroup()
    meter = group.meter("calls", time_span_in_seconds=10)
    rates = []
    for second in range(31):
        rates.append(reports(group, 1000.0 * second)["calls"].values[""])
        meter.mark_event(100 if second < 10 else 0)
    assert rates[0] == 0.0
    assert rates[1] == rates[10] == 100.0
    assert rates[15] == 50.0
    assert rates[30] == meter.get_rate() == 0.0
    assert reports(group, 31_000.0)["calls"].values["count"] == meter.get_count() == 1000


def test_a_distribution_has_count_sum_bounds_and_mean() -> None:
    group = MetricGroup()
    distribution = group.distribution("size")
    assert reports(group)["size"].values == {"count": 0, "sum": 0}
    for size in (4, 1, 7):
        distribution.update(size)
    assert reports(group)["size"].values == {"count": 3, "sum": 12.0, "min": 1, "max": 7, "mean": 4.0}


def test_a_gauge_is_asked_at_each_report() -> None:
    waiting = [1]
    group = MetricGroup()
    group.gauge("waiting", lambda: len(waiting))
    assert reports(group)["waiting"].values == {"": 1.0}
    waiting.append(2)
    assert reports(group)["waiting"].values == {"": 2.0}


def test_a_gauge_that_fails_has_no_value_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    group = MetricGroup()
    group.gauge("broken", lambda: [1, 2].index(3))
    group.gauge("text", lambda: "many")  # type: ignore[arg-type, return-value]
    with caplog.at_level(logging.WARNING):
        assert reports(group) == {}
        assert reports(group) == {}
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the gauge 'broken' has no value",
        "the gauge 'text' has no value",
    ]


def test_asking_twice_gives_the_same_metric_and_group() -> None:
    group = MetricGroup()
    assert group.counter("a") is group.counter("a")
    assert group.meter("b") is group.meter("b")
    assert group.distribution("c") is group.distribution("c")
    assert group.add_group("x") is group.add_group("x")
    assert group.add_group("x", "1") is not group.add_group("x", "2")


def test_one_name_is_one_kind_of_metric() -> None:
    group = MetricGroup(Scope(components=("job", "map", "0")))
    group.counter("a")
    with pytest.raises(ProgramError, match=r"'job.map.0.a' is a Counter already, and cannot be a Meter"):
        group.meter("a")
    with pytest.raises(ProgramError, match=r"cannot be a Gauge"):
        group.gauge("a", lambda: 1)


def test_groups_are_a_path_and_pairs_are_variables() -> None:
    root = MetricGroup(Scope(components=("job", "map", "0"), variables={"<job_name>": "job"}))
    group = root.add_group("orders").add_group("country", "fr")
    group.counter("late").inc()
    assert group.get_scope_components() == ["job", "map", "0", "orders", "country", "fr"]
    assert group.get_all_variables() == {"<job_name>": "job", "<country>": "fr"}
    assert group.get_metric_identifier("late", "_") == "job_map_0_orders_country_fr_late"
    report = reports(root)["late"]
    assert (report.kind, report.groups, report.labels) == ("counter", ("orders",), {"country": "fr"})


class Counted(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.counter = runtime_context.get_metrics_group().counter("mapped")

    def map(self, value: int) -> int:
        self.counter.inc()
        return self.counter.get_count()


def test_a_function_gets_its_group_from_its_context() -> None:
    with OperatorHarness(MapFactory(Counted())) as harness:
        assert harness.process(7) == [1]
        assert harness.process(7, 7) == [2, 3]
