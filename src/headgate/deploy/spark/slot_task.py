"""The Spark task that hosts a slot: what the driver tells the slot, and the function that Spark runs."""

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
    """Everything that the slots of one launch need but the job's package.

    `storage` is None when the slots need none. `proof` is the nonce with which each slot proves that it sees the
    driver's storage, None where both are one machine, or there is none. `certificate` is for the slots' connections,
    None where they use none or the user's own.
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
    """Return the function of the Spark task that hosts a slot.

    `package` is the packed job, as bytes or as a broadcast of them.
    """
    data = pickle.dumps(spec, 5)

    def headgate_slot(rows: Iterable[Any]) -> Iterator[Any]:
        with entry():
            from headgate.deploy.spark.slot_process import run_slot  # noqa: PLC0415  # found by now

            for _ in rows:
                pass
            run_slot(data, package if isinstance(package, bytes) else package.value)
        return iter(())

    return headgate_slot
