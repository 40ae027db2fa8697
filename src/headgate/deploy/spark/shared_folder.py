"""Whether Spark's executors see a folder of the driver, found out before rows for them are written there."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql import SparkSession

from headgate.connectors.files.places import Place
from headgate.deploy.spark.observe import slots_total
from headgate.deploy.spark.preflight import is_local
from headgate.errors import EnvironmentFault, StorageError

STORAGE: Final = "set execution.checkpointing.dir (or headgate.storage.dir) to a folder or URI"
"""How to say where a job's storage is."""


def check_shared(spark: SparkSession, folder: str, setting: str = STORAGE) -> None:
    """Look for a file of the driver in a task of each executor; do nothing for a URI, or in local mode. Blocks.

    Raises EnvironmentFault naming the host that does not see it, and the `setting` to change.
    """
    place = Place.of(folder, StorageError)
    if place.root or is_local(spark.sparkContext.master or ""):
        return
    probe = os.path.join(place.path, f"_probe-{uuid.uuid4().hex}")
    os.makedirs(place.path, exist_ok=True)
    try:
        with open(probe, "wb"):
            blind = hosts_without(spark, probe)
    finally:
        if os.path.exists(probe):
            os.remove(probe)
    if blind:
        raise EnvironmentFault(
            f"the workers on {', '.join(blind)} do not see {place.path!r}, where the driver on {socket.gethostname()} "
            f"looks for the rows of DataFrames: {setting} that all of them reach"
        )


def hosts_without(spark: SparkSession, path: str) -> list[str]:
    """Return the hosts of tasks, as many as run at a time, that do not see a local path. Blocks."""

    # By value, with all it needs: workers may not have headgate yet.
    def look(_: Iterable[object]) -> Iterator[str]:
        import os  # noqa: PLC0415
        import socket  # noqa: PLC0415

        if not os.path.exists(path):
            yield socket.gethostname()

    tasks = max(1, slots_total(spark.sparkContext))
    return sorted(set(spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(look).collect()))
