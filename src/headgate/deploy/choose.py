"""The choice of where a program's jobs run, by the key `headgate.deploy.target`."""

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
from headgate.state.choose import check_backend


def _may_have_spark() -> bool:
    """Whether the program may have a session, or spark-submit has started it: else pyspark need not be loaded."""
    return "pyspark" in sys.modules or is_submitted()


def spark_conf(spark: Any) -> dict[str, str]:
    """Return the conf of the Spark session `spark`, else of the active one, else of spark-submit; else nothing."""
    if spark is None and not _may_have_spark():
        return {}
    from headgate.deploy.spark import session  # noqa: PLC0415  # only for who has pyspark

    return session.conf(spark)


def deployment(settings: Settings, spark: Any) -> Deployment:
    """Return the place where jobs run: `spark` (a session) if given, else what the settings choose.

    Raises EnvironmentFault when a package is not installed: pyspark for Spark, or one that the state backend needs.
    """
    check_backend(settings)
    if settings.get(DEPLOY_TARGET) == "minicluster":
        return MiniCluster()
    if importlib.util.find_spec("pyspark") is None:
        raise EnvironmentFault(
            "jobs run on Spark, but pyspark is not installed: pip install 'headgate[spark]', or run without Spark, "
            f"in this process, by setting {DEPLOY_TARGET.key}=minicluster"
        )
    from headgate.deploy.spark.deployment import SparkDeployment  # noqa: PLC0415  # only for who has pyspark

    return SparkDeployment(spark)


def default_parallelism(settings: Settings, spark: Any) -> int:
    """Return the parallelism of operators when none is set. Starts nothing."""
    if settings.get(DEPLOY_TARGET) == "minicluster":
        return 1
    if spark is None and not _may_have_spark():
        return os.cpu_count() or 1
    from headgate.deploy.spark import session  # noqa: PLC0415  # only for who has pyspark

    return session.default_parallelism(spark)
