"""Requests for checkpoints and savepoints: where savepoints go, and who waits for which answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, final

from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.coordination.failures import FailureReason
from headgate.checkpoint.coordination.vocabulary import (
    CheckpointRequest,
    CheckpointRequested,
    CoordinatorEvent,
    RequestCompleted,
    RequestFailed,
)
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
    """A savepoint that a user asks for. `target` is the folder or URI that its folder goes into, None: the default one.

    `stops`: the job ends with it; `drains`: before that its sources end, as if their input had.
    """

    target: str | None = None
    format: SavepointFormat = SavepointFormat.CANONICAL
    stops: bool = False
    drains: bool = False


class RequestHost(Protocol):
    """What requests ask of the job master's checkpoints."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...


@final
class Requests:
    """The requests of one job that are not answered yet. Owned by the job master's loop.

    An answer is the location of what is complete, or a CheckpointError that says why there is none.
    """

    def __init__(
        self, plan: JobGraph, storage: JobStorage, host: RequestHost, tell: Callable[[CoordinatorEvent], None]
    ) -> None:
        """`tell` takes events to the coordinator."""
        self._plan = plan
        self._storage = storage
        self._host = host
        self._tell = tell
        self._answers: dict[int, Future[str]] = {}
        self._numbers = 0

    @property
    def is_open(self) -> bool:
        """Whether somebody waits for an answer."""
        return bool(self._answers)

    def checkpoint(self, answer: Future[str]) -> None:
        """Ask for a checkpoint, of a job that makes some: in others, operators keep their state out of checkpoints."""
        if not answer.set_running_or_notify_cancel():
            return
        if self._plan.checkpointing:
            self._ask(CheckpointRequest(number=self._number(answer)))
        else:
            key = options.CHECKPOINT_INTERVAL.key
            answer.set_exception(ConfigError(f"the job makes no checkpoints: set {key}, or take a savepoint"))

    def savepoint(self, request: SavepointRequest, answer: Future[str]) -> None:
        """Ask for a savepoint, once its folder turns out to be one that can be written to: sources may stop for it."""
        if not answer.set_running_or_notify_cancel():
            return
        folder = request.target or self._plan.settings.get(options.SAVEPOINT_DIR)
        if folder is None:
            key = options.SAVEPOINT_DIR.key
            answer.set_exception(ConfigError(f"no setting says where savepoints go: name a folder, or set {key}"))
            return
        number = self._number(answer)
        order = SavepointOrder(self._place(folder, number), request.format, request.stops)
        checkpoint = CheckpointRequest(number=number, savepoint=order, drains=request.drains)

        def done(result: BaseException | None) -> None:
            if result is None:
                self._ask(checkpoint)
            else:
                failure = FailureReason.NOT_WRITABLE.told(location=order.location, why=result)
                self.failed(RequestFailed(request=checkpoint, failure=failure))

        self._storage.prepare_savepoint(order.location, done)

    def completed(self, answer: RequestCompleted) -> None:
        """What was asked for is complete."""
        savepoint = answer.request.savepoint
        location = self._storage.locate(answer.checkpoint_id) if savepoint is None else savepoint.location
        self._answers.pop(answer.request.number).set_result(location)

    def failed(self, answer: RequestFailed) -> None:
        """There is nothing of the kind that was asked for, or the job did not end with it."""
        what = "checkpoint" if answer.request.savepoint is None else "savepoint"
        error = CheckpointError(f"no {what} for job {self._plan.job_id}: {answer.failure}")
        if answer.request.stops:
            error = CheckpointError(f"job {self._plan.job_id} was not stopped with a savepoint: {answer.failure}")
        self._answers.pop(answer.request.number).set_exception(error)

    def _ask(self, request: CheckpointRequest) -> None:
        self._tell(CheckpointRequested(request=request, now_ms=self._host.clock.monotonic_ms()))

    def _number(self, answer: Future[str]) -> int:
        self._numbers += 1
        self._answers[self._numbers] = answer
        return self._numbers

    def _place(self, folder: str, number: int) -> str:
        """Return a location that no savepoint has: not random, so that a simulated job always has the same ones."""
        unique = f"{self._plan.job_id} {self._storage.owner} {self._host.clock.wall_ms()} {number}"
        digest = hashlib.sha256(unique.encode()).hexdigest()
        return paths.below(
            paths.absolute(folder), f"{paths.SAVEPOINT}{self._plan.job_id[:_JOB_ID_DIGITS]}-{digest[:_NONCE_DIGITS]}"
        )
