"""Chooses where the jobs of a program run, by the key `headgate.deploy.target`, and which of them are batch jobs."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

from headgate.config import Settings
from headgate.deploy.arguments import is_submitted
from headgate.deploy.handles.handle import Deployment
from headgate.errors import EnvironmentFault, ProgramError
from headgate.graph.logical import LogicalGraph
from headgate.operators.source import SourceFactory
from headgate.options import DEPLOY_TARGET, RECOVERY_PATH, RUNTIME_MODE
from headgate.state.backend import check_backend


def _may_have_spark() -> bool:
    """Return whether there can be a session or a conf of spark-submit. If not, pyspark need not be imported."""
    return "pyspark" in sys.modules or is_submitted()


def spark_conf(spark: Any) -> dict[str, str]:
    """Return the first conf that exists of: the session `spark`, the active session, spark-submit. Otherwise empty."""
    if spark is None and not _may_have_spark():
        return {}
    from headgate.deploy.spark import session  # noqa: PLC0415  # pyspark is an extra

    return session.conf(spark)


def deployment(settings: Settings, spark: Any) -> Deployment:
    """Return the deployment that the settings choose. On Spark, jobs run in the session `spark` if it is not None.

    Raises EnvironmentFault if a package is missing: pyspark for Spark, or the package of the state backend.
    """
    check_backend(settings)
    if settings.get(DEPLOY_TARGET) == "minicluster":
        from headgate.deploy.local.mini_cluster import MiniCluster  # noqa: PLC0415  # takes long to load

        return MiniCluster()
    if importlib.util.find_spec("pyspark") is None:
        raise EnvironmentFault(
            "jobs run on Spark, but pyspark is not installed: pip install 'headgate[spark]', or run without Spark, "
            f"in this process, by setting {DEPLOY_TARGET.key}=minicluster"
        )
    from headgate.deploy.spark.deployment import SparkDeployment  # noqa: PLC0415  # pyspark is an extra

    return SparkDeployment(spark)


def is_batch(graph: LogicalGraph, settings: Settings) -> bool:
    """Return whether the job is a batch job. AUTOMATIC makes it one when every source is bounded, as in Flink.

    Raises ProgramError for BATCH with an unbounded source, or with a snapshot to start from.
    """
    mode = settings.get(RUNTIME_MODE)
    if mode == "STREAMING" or not graph.nodes:
        return False
    endless = [node.name for node in graph.nodes if not _is_bounded(node.operator)]
    restores = settings.get(RECOVERY_PATH) is not None
    if mode == "AUTOMATIC":
        return not endless and not restores
    if endless:
        raise ProgramError(
            f"the runtime mode is BATCH, but source {endless[0]!r} never ends, or looks for more to read while "
            "the job runs: use a bounded source, or set the runtime mode to STREAMING (or AUTOMATIC)"
        )
    if restores:
        raise ProgramError(
            f"the runtime mode is BATCH, and {RECOVERY_PATH.key} names a snapshot to start from, but a batch job "
            "begins without state: leave the snapshot out, or set the runtime mode to STREAMING"
        )
    return True


def _is_bounded(operator: object) -> bool:
    """Return whether an operator, if it is a source, has all its splits at the start."""
    if not isinstance(operator, SourceFactory):
        return True
    return operator.source.bounded and operator.source.discovery_interval_ms is None


def default_parallelism(settings: Settings, spark: Any) -> int:
    """Return the parallelism of operators that set none. Starts no session."""
    if settings.get(DEPLOY_TARGET) == "minicluster":
        return 1
    if spark is None and not _may_have_spark():
        return os.cpu_count() or 1
    from headgate.deploy.spark import session  # noqa: PLC0415  # pyspark is an extra

    return session.default_parallelism(spark)
