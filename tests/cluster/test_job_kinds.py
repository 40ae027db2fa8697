"""A job of each kind on the newest Spark; `make spark35` and `make spark40` run the same on older ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cluster.job_kinds import KINDS

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_job_of_the_kind_runs(
    kind: Callable[[SparkSession, Path], None], spark: SparkSession, tmp_path: Path
) -> None:
    kind(spark, tmp_path)
