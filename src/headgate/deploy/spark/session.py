"""The Spark session that a program's jobs run on, and what can be read from it."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession


def active(spark: SparkSession | None) -> SparkSession | None:
    """Return `spark`, else the active session, else None. Starts nothing."""
    return spark or SparkSession.getActiveSession()


def conf(spark: SparkSession | None) -> dict[str, str]:
    """Return the conf of `spark` or of the active session; nothing where there is none."""
    session = active(spark)
    return {} if session is None else {key: str(value) for key, value in session.conf.getAll.items()}


def default_parallelism(spark: SparkSession | None) -> int:
    """Return the parallelism of operators when nobody sets one: Spark's own, before there is a session the cores."""
    session = active(spark)
    return (os.cpu_count() or 1) if session is None else session.sparkContext.defaultParallelism
