"""Metrics of user functions. A function gets its metric group from `RuntimeContext.get_metrics_group`."""

from __future__ import annotations

from headgate.functions.metrics import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
