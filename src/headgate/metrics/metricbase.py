"""Metrics of user functions; a function gets its group from `RuntimeContext.get_metrics_group`."""

from __future__ import annotations

from headgate.functions.metrics import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
