"""Metrics of user functions, with the names of `pyflink.metrics`."""

from headgate.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
