"""What a slot is told by the closure of its Spark task, and what the task does with it.

The closure is the only way that the job's secret travels: it is in no conf, argument, environment or log. Its function
is pickled by value and refers to nothing of headgate, so a worker without headgate can still say what it lacks.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

from headgate.config import Settings
from headgate.ids import JobId, Launch

SlotTask = Callable[[Iterable[Any]], Iterator[Any]]
"""What one task of the stage does; Spark gives it rows, of which there are none, and takes rows, of which neither."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSpec:
    """Everything that the slots of one launch need but the job's package.

    `proof` is the nonce with which each slot proves that it sees the driver's storage, None where both are one machine.
    """

    job_id: JobId
    job_name: str
    launch: Launch
    host: str
    port: int
    secret: bytes
    storage: str
    proof: str | None
    settings: Settings

    def __repr__(self) -> str:
        return f"SlotSpec({self.job_name!r}, launch {self.launch})"


def slot_task(spec: SlotSpec, package: Any, paths: list[str]) -> SlotTask:
    """Return the function of the Spark task that hosts a slot.

    `package` is the packed job, as bytes or as a broadcast of them; `paths` are folders that Python looks for modules
    in besides its own.
    """
    data = pickle.dumps(spec, 5)

    def headgate_slot(rows: Iterable[Any]) -> Iterator[Any]:
        import sys  # noqa: PLC0415  # this function travels by value

        sys.path.extend(path for path in paths if path not in sys.path)
        from headgate.deploy.spark.slot_process import run_slot  # noqa: PLC0415  # found by now

        for _ in rows:
            pass
        run_slot(data, package if isinstance(package, bytes) else package.value)
        return iter(())

    return headgate_slot
