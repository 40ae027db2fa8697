"""The choice of where a program's jobs run, by the key `headgate.deploy.target`.

Deployments are imported when they are chosen: pyspark is an extra, and takes long to import.
"""

from __future__ import annotations

import sys
from typing import Any

from headgate.config import Settings
from headgate.deploy.handle import Deployment
from headgate.options import DEPLOY_TARGET


def spark_conf(spark: Any) -> dict[str, str]:
    """Return the conf of the Spark session `spark`, else of the active one; nothing where there is none."""
    if spark is None and "pyspark" not in sys.modules:
        return {}
    from headgate.deploy.spark import session  # noqa: PLC0415

    return session.conf(spark)


def deployment(settings: Settings, spark: Any) -> Deployment:
    """Return the place where jobs run: `spark` (a session) if given, else what the settings choose."""
    if settings.get(DEPLOY_TARGET) == "minicluster":
        from headgate.deploy.local import MiniCluster  # noqa: PLC0415

        return MiniCluster()
    from headgate.deploy.spark.deployment import SparkDeployment  # noqa: PLC0415

    return SparkDeployment(spark)


def default_parallelism(settings: Settings, spark: Any) -> int:
    """Return the parallelism of operators when nobody sets one. Starts nothing."""
    if settings.get(DEPLOY_TARGET) == "minicluster":
        return 1
    from headgate.deploy.spark import session  # noqa: PLC0415

    return session.default_parallelism(spark)
