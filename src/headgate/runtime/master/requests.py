"""Users' requests for checkpoints and savepoints: the locations of savepoints, and the unanswered requests."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from dataclasses import dataclass
from typing import final

from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.coordination.vocabulary import CheckpointRequest, RequestCompleted, RequestFailed
from headgate.clock import Clock
from headgate.elements import SavepointFormat, SavepointOrder
from headgate.errors import CheckpointError, ConfigError
from headgate.graph.job_graph import JobGraph
from headgate.runtime.job_storage.job_storage import JobStorage

_NONCE_DIGITS = 12
_JOB_ID_DIGITS = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointRequest:
    """A savepoint that a user asks for.

    `target` is the folder or URI in which the savepoint's own folder is made; None: the configured one. `stops`: the
    job ends with the savepoint. `drains`: before that its sources end, as if their input had ended.
    """

    target: str | None = None
    format: SavepointFormat = SavepointFormat.CANONICAL
    stops: bool = False
    drains: bool = False


@final
class Requests:
    """The unanswered requests of one job. Owned by the job master's loop.

    An answer is the location of the complete checkpoint or savepoint, or a CheckpointError with the reason.
    """

    def __init__(self, plan: JobGraph, storage: JobStorage, clock: Clock) -> None:
        self._plan = plan
        self._storage = storage
        self._clock = clock
        self._answers: dict[int, Future[str]] = {}
        self._numbers = 0

    @property
    def is_open(self) -> bool:
        """Whether a request is unanswered."""
        return bool(self._answers)

    def checkpoint(self, answer: Future[str]) -> CheckpointRequest | None:
        """Return the request for a checkpoint, None if it is answered already.

        A job without periodic checkpoints takes none, because its operators put no state into checkpoints.
        """
        if not answer.set_running_or_notify_cancel():
            return None
        if self._plan.checkpointing:
            return CheckpointRequest(number=self._number(answer))
        key = options.CHECKPOINT_INTERVAL.key
        answer.set_exception(ConfigError(f"the job makes no checkpoints: set {key}, or take a savepoint"))
        return None

    def savepoint(self, request: SavepointRequest, answer: Future[str]) -> CheckpointRequest | None:
        """Return the request for a savepoint in a new folder, None if it is answered already."""
        if not answer.set_running_or_notify_cancel():
            return None
        folder = request.target or self._plan.settings.get(options.SAVEPOINT_DIR)
        if folder is None:
            key = options.SAVEPOINT_DIR.key
            answer.set_exception(ConfigError(f"no setting says where savepoints go: name a folder, or set {key}"))
            return None
        number = self._number(answer)
        order = SavepointOrder(self._place(folder, number), request.format, request.stops)
        return CheckpointRequest(number=number, savepoint=order, drains=request.drains)

    def completed(self, answer: RequestCompleted) -> None:
        """Answer a request: its checkpoint or savepoint is complete."""
        savepoint = answer.request.savepoint
        location = self._storage.locate(answer.checkpoint_id) if savepoint is None else savepoint.location
        self._answers.pop(answer.request.number).set_result(location)

    def failed(self, answer: RequestFailed) -> None:
        """Answer a request: its checkpoint or savepoint has failed, or the job did not end with it."""
        what = "checkpoint" if answer.request.savepoint is None else "savepoint"
        error = CheckpointError(f"no {what} for job {self._plan.job_id}: {answer.failure}")
        if answer.request.stops:
            error = CheckpointError(f"job {self._plan.job_id} was not stopped with a savepoint: {answer.failure}")
        self._answers.pop(answer.request.number).set_exception(error)

    def _number(self, answer: Future[str]) -> int:
        self._numbers += 1
        self._answers[self._numbers] = answer
        return self._numbers

    def _place(self, folder: str, number: int) -> str:
        """Return an unused location. It is not random, so that a simulated job repeats its locations."""
        unique = f"{self._plan.job_id} {self._storage.owner} {self._clock.wall_ms()} {number}"
        digest = hashlib.sha256(unique.encode()).hexdigest()
        return paths.below(
            paths.absolute(folder), f"{paths.SAVEPOINT}{self._plan.job_id[:_JOB_ID_DIGITS]}-{digest[:_NONCE_DIGITS]}"
        )
