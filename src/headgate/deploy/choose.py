"""Chooses where the jobs of a program run, by the key `headgate.deploy.target`."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

from headgate.config import Settings
from headgate.deploy.arguments import is_submitted
from headgate.deploy.handles.handle import Deployment
from headgate.deploy.local.mini_cluster import MiniCluster
from headgate.errors import EnvironmentFault
from headgate.options import DEPLOY_TARGET
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
        return MiniCluster()
    if importlib.util.find_spec("pyspark") is None:
        raise EnvironmentFault(
            "jobs run on Spark, but pyspark is not installed: pip install 'headgate[spark]', or run without Spark, "
            f"in this process, by setting {DEPLOY_TARGET.key}=minicluster"
        )
    from headgate.deploy.spark.deployment import SparkDeployment  # noqa: PLC0415  # pyspark is an extra

    return SparkDeployment(spark)


def default_parallelism(settings: Settings, spark: Any) -> int:
    """Return the parallelism of operators that set none. Starts no session."""
    if settings.get(DEPLOY_TARGET) == "minicluster":
        return 1
    if spark is None and not _may_have_spark():
        return os.cpu_count() or 1
    from headgate.deploy.spark import session  # noqa: PLC0415  # pyspark is an extra

    return session.default_parallelism(spark)
