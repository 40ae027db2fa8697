"""Metrics that user functions keep: counters, meters, distributions and gauges, in groups.

A metric belongs to one operator of one subtask, begins again with each attempt, and is reported about once a second.
Counting costs a function call and an addition, and sends nothing.
"""

from __future__ import annotations

import logging
from abc import ABC
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, final

from headgate.errors import ProgramError

_log = logging.getLogger(__name__)


class Metric(ABC):
    """Something that is measured."""

    __slots__ = ()


@final
class Counter(Metric):
    """A number that goes up and down.

    >>> counter = MetricGroup().counter("orders")
    >>> counter.inc()
    >>> counter.inc(2)
    >>> counter.get_count()
    3
    """

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Add to the count."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Subtract from the count."""
        self._count -= n

    def get_count(self) -> int:
        """Return the count."""
        return self._count

    def values(self) -> dict[str, float]:
        """Return the values to report, by suffix."""
        return {"": self._count}


@final
class Meter(Metric):
    """Counts events, and measures their rate per second over the last `time_span_in_seconds`."""

    __slots__ = ("_count", "_rate", "_samples", "_span_ms")

    def __init__(self, time_span_in_seconds: int) -> None:
        self._span_ms = 1000.0 * time_span_in_seconds
        self._count = 0
        self._rate = 0.0
        self._samples: deque[tuple[float, int]] = deque()

    def mark_event(self, value: int = 1) -> None:
        """Count `value` events."""
        self._count += value

    def get_count(self) -> int:
        """Return how many events there were."""
        return self._count

    def get_rate(self) -> float:
        """Return the events per second, as of the last report."""
        return self._rate

    def sample(self, now_ms: float) -> None:
        """Compute the rate over the time span that ends at `now_ms`, by the monotonic clock."""
        samples = self._samples
        samples.append((now_ms, self._count))
        while len(samples) > 2 and samples[1][0] <= now_ms - self._span_ms:
            samples.popleft()
        since_ms, count = samples[0]
        self._rate = 1000.0 * (self._count - count) / (now_ms - since_ms) if now_ms > since_ms else 0.0

    def values(self) -> dict[str, float]:
        """Return the values to report, by suffix."""
        return {"": self._rate, "count": self._count}


@final
class Distribution(Metric):
    """Values: their count, sum, minimum, maximum and mean."""

    __slots__ = ("_count", "_least", "_most", "_sum")

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0
        self._least: float | None = None
        self._most: float | None = None

    def update(self, value: float) -> None:
        """Add a value."""
        self._count += 1
        self._sum += value
        if self._least is None or value < self._least:
            self._least = value
        if self._most is None or value > self._most:
            self._most = value

    def values(self) -> dict[str, float]:
        """Return the values to report; before the first `update`, only a count and a sum of 0."""
        if self._least is None or self._most is None:
            return {"count": 0, "sum": 0}
        mean = self._sum / self._count
        return {"count": self._count, "sum": self._sum, "min": self._least, "max": self._most, "mean": mean}


@final
class Gauge(Metric):
    """A number that a function returns at each report."""

    __slots__ = ("_has_failed", "_name", "_read")

    def __init__(self, name: str, read: Callable[[], float]) -> None:
        self._name = name
        self._read = read
        self._has_failed = False

    def values(self) -> dict[str, float]:
        """Return the values to report: none when the function raises or returns no number, which is logged once."""
        try:
            return {"": float(self._read())}
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a gauge must not fail the job that it measures
            if not self._has_failed:
                _log.warning("the gauge %r has no value: %s: %s", self._name, type(error).__name__, error)
            self._has_failed = True
            return {}


_M = TypeVar("_M", Counter, Meter, Distribution, Gauge)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where the metrics of a group belong: `components` as a path, and `variables` by name, in angle brackets.

    `groups` are the names of the groups that the user has added, `labels` the pairs of name and value.
    """

    components: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReport:
    """The values of one metric at one moment, by suffix: "" for the value itself. `kind` is the metric's class."""

    name: str
    kind: str
    groups: tuple[str, ...]
    labels: dict[str, str]
    values: dict[str, float]


@final
class MetricGroup:
    """A named place for metrics, and for more groups. Asking twice for the same metric gives the same object.

    >>> group = MetricGroup().add_group("orders").add_group("country", "fr")
    >>> group.counter("late").inc()
    >>> group.get_metric_identifier("late")
    'orders.country.fr.late'
    """

    __slots__ = ("_groups", "_metrics", "_scope")

    def __init__(self, scope: Scope | None = None) -> None:
        self._scope = scope or Scope()
        self._metrics: dict[str, Counter | Meter | Distribution | Gauge] = {}
        self._groups: dict[tuple[str, str | None], MetricGroup] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the group of this name; with `extra`, the group of this value of the variable `name`."""
        known = self._groups.get((name, extra))
        if known is None:
            known = self._groups[name, extra] = MetricGroup(self._scope_of(name, extra))
        return known

    def _scope_of(self, name: str, extra: str | None) -> Scope:
        own = self._scope
        if extra is None:
            return Scope(
                components=(*own.components, name),
                variables=own.variables,
                groups=(*own.groups, name),
                labels=own.labels,
            )
        return Scope(
            components=(*own.components, name, extra),
            variables={**own.variables, f"<{name}>": extra},
            groups=own.groups,
            labels={**own.labels, name: extra},
        )

    def counter(self, name: str) -> Counter:
        """Return a counter. Raises ProgramError when the name is in use for another kind of metric."""
        return self._known(name, Counter) or self._add(name, Counter())

    def gauge(self, name: str, obj: Callable[[], float]) -> None:
        """Have `obj` called at each report, on the thread of the function. Raises ProgramError as `counter` does."""
        self._known(name, Gauge)
        self._add(name, Gauge(name, obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return a meter of the rate over the last `time_span_in_seconds`. Raises ProgramError as `counter` does."""
        return self._known(name, Meter) or self._add(name, Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """Return a distribution. Raises ProgramError as `counter` does."""
        return self._known(name, Distribution) or self._add(name, Distribution())

    def _known(self, name: str, kind: type[_M]) -> _M | None:
        known = self._metrics.get(name)
        if known is None or isinstance(known, kind):
            return known
        raise ProgramError(
            f"the metric {self.get_metric_identifier(name)!r} is a {type(known).__name__} already, and cannot be a "
            f"{kind.__name__} too: use another name, or another group"
        )

    def _add(self, name: str, metric: _M) -> _M:
        self._metrics[name] = metric
        return metric

    def get_scope_components(self) -> list[str]:
        """Return the path of the group: job, operator, index of the subtask, and the groups that were added."""
        return list(self._scope.components)

    def get_all_variables(self) -> dict[str, str]:
        """Return the variables of the group by name, in angle brackets, such as `<operator_name>`."""
        return dict(self._scope.variables)

    def get_metric_identifier(self, metric_name: str, delimiter: str = ".") -> str:
        """Return the full name of a metric of this group."""
        return delimiter.join([*self._scope.components, metric_name])

    def report(self, now_ms: float) -> Iterator[MetricReport]:
        """Yield the values of all metrics of this group and its groups; `now_ms` is a time of the monotonic clock."""
        for name, metric in self._metrics.items():
            if isinstance(metric, Meter):
                metric.sample(now_ms)
            values = metric.values()
            if values:
                yield MetricReport(
                    name=name,
                    kind=type(metric).__name__.lower(),
                    groups=self._scope.groups,
                    labels=dict(self._scope.labels),
                    values=values,
                )
        for group in self._groups.values():
            yield from group.report(now_ms)
