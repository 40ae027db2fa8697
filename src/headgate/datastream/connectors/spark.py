"""Sinks made of PySpark's Python data sources: any stream writer. Needs the extra `headgate[spark]`."""

from __future__ import annotations

from headgate.deploy.data_sources import needs_data_sources
from headgate.errors import EnvironmentFault

try:
    with needs_data_sources("SparkSink", "write with another sink (docs/reference/connectors.md)"):
        from headgate.deploy.spark.stream_writer.sink import SparkSink
except ModuleNotFoundError as error:
    raise EnvironmentFault("SparkSink needs an extra: pip install 'headgate[spark]'") from error

__all__ = ["SparkSink"]
