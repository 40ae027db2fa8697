"""The Spark task that hosts a slot: its configuration, `SlotSpec`, and the function that Spark runs.

The closure of the task is the only way in which the job's secret and the key of its certificate travel: no conf,
argument, environment variable or log contains them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, final

from headgate.config import Settings
from headgate.ids import JobId, Launch
from headgate.runtime.wire import ThrowAwayCertificate

SlotTask = Callable[[Iterable[Any]], Iterator[Any]]
"""The function that Spark runs in each task. Its input and output are empty: records go from slot to slot directly."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSpec:
    """Everything that the slots of one launch need, except the job's package.

    `storage` is None if the slots use no storage. `proof` is the nonce by which each slot proves that it sees the
    driver's storage; None on one machine, and without storage. `certificate` is the certificate for connections of
    slots, None if they use the user's certificate or no TLS.
    """

    job_id: JobId
    job_name: str
    launch: Launch
    host: str
    port: int
    secret: bytes
    certificate: ThrowAwayCertificate | None
    storage: str | None
    proof: str | None
    settings: Settings

    def __repr__(self) -> str:
        return f"SlotSpec({self.job_name!r}, launch {self.launch})"


def slot_task(spec: SlotSpec, package: Any, entry: Callable[[], AbstractContextManager[None]]) -> SlotTask:
    """Return the function that Spark runs in each task of a launch.

    It is pickled by value and imports headgate only inside `entry`, so that a worker without headgate can report the
    missing module. `package` is the packed job, as bytes or as a broadcast of bytes.
    """
    data = pickle.dumps(spec, 5)

    def headgate_slot(rows: Iterable[Any]) -> Iterator[Any]:
        with entry():
            from headgate.deploy.spark.slot_process import run_slot  # noqa: PLC0415  # `entry` makes it importable

            for _ in rows:
                pass
            run_slot(data, package if isinstance(package, bytes) else package.value)
        return iter(())

    return headgate_slot
