"""Checks that driver, slots and executors see the same storage.

`StorageProof` checks the checkpoint storage of each launch of slots. `check_shared` checks a folder for the rows of
DataFrames before rows are written there.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable, Iterator
from typing import Final, final

from pyspark.sql import SparkSession

from headgate.checkpoint.storage_probe import check_probes, remove_probes, write_probe
from headgate.checkpoint.store import CheckpointStore
from headgate.connectors.files.places import Place
from headgate.deploy.spark.observe import slots_total
from headgate.deploy.spark.preflight import is_local
from headgate.errors import EnvironmentFault, StorageError
from headgate.ids import Launch, SlotIndex

STORAGE: Final = "set execution.checkpointing.dir (or headgate.storage.dir) to a folder or URI"
"""Advice for the setting of a job's storage."""


@final
class StorageProof:
    """Proves for one launch that the driver and all slots see the same checkpoint storage.

    Each slot answers a file of the driver with a file that names the nonce. All methods read or write small files.
    """

    def __init__(self, store: CheckpointStore, nonce: str, launch: Launch, slots: int) -> None:
        self.nonce = nonce
        self._store = store
        self._launch = launch
        self._slots = slots
        self._hosts: dict[SlotIndex, str] = {}

    def begin(self) -> None:
        """Write the file that slots look for. Raises `StorageError`."""
        write_probe(self._store, self.nonce)

    def sized(self, launch: Launch, slots: int) -> None:
        """Set the number of slots of the launch."""
        if launch == self._launch:
            self._slots = slots

    def answered(self, launch: Launch, slot: SlotIndex, host: str) -> str | None:
        """Record the answer of a slot. Return the reason if storage is not shared, else None.

        The last answer of the launch triggers the check. Slots of earlier launches are ignored: they may register late
        if their executor was frozen.
        """
        if launch != self._launch:
            return None
        self._hosts[slot] = host
        if len(self._hosts) < self._slots:
            return None
        try:
            check_probes(self._store, self.nonce, self._hosts)
        except StorageError as error:
            return str(error)
        return None

    def remove(self) -> None:
        """Delete the files of the proof. Raises `StorageError`."""
        remove_probes(self._store, self.nonce)


def check_shared(spark: SparkSession, folder: str, setting: str = STORAGE) -> None:
    """Check that a task on each executor sees a file of the driver. Does nothing for a URI and in local mode. Blocks.

    Raises EnvironmentFault naming the hosts that do not see the file, and the `setting` to change.
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
    """Run a task in every task slot. Return the hosts that do not see a local path. Blocks."""

    # Pickled by value, with its imports: workers may not have headgate yet.
    def look(_: Iterable[object]) -> Iterator[str]:
        import os  # noqa: PLC0415
        import socket  # noqa: PLC0415

        if not os.path.exists(path):
            yield socket.gethostname()

    tasks = max(1, slots_total(spark.sparkContext))
    return sorted(set(spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(look).collect()))
