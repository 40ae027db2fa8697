"""A sink that writes with any stream writer of PySpark's Python data sources. Needs the extra `headgate[spark]`."""

from __future__ import annotations

from headgate.errors import missing_extra, needs_data_sources

try:
    with needs_data_sources("SparkSink", "write with another sink (docs/reference/connectors.md)"):
        from headgate.deploy.spark.stream_writer.sink import SparkSink
except ModuleNotFoundError as error:
    raise missing_extra("SparkSink", "spark", error) from error

__all__ = ["SparkSink"]
