"""What a slot is told by the closure of its Spark task.

The closure is the only way that the job's secret and the key of its certificate travel: they are in no conf, argument,
environment or log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.config import Settings
from headgate.ids import JobId, Launch
from headgate.runtime.wire import ThrowAwayCertificate


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
