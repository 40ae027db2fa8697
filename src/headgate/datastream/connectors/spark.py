"""Sinks made of PySpark's Python data sources: any stream writer. Needs the extra `headgate[spark]`."""

from __future__ import annotations

from headgate.errors import EnvironmentFault

try:
    from headgate.deploy.spark.stream_writer.sink import SparkSink
except ModuleNotFoundError as error:
    raise EnvironmentFault("SparkSink needs an extra: pip install 'headgate[spark]'") from error

__all__ = ["SparkSink"]
