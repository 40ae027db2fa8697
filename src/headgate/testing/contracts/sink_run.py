"""One subtask of a job with a sink under test, step by step: the calls of job master and slot, and failures."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, final

import cloudpickle

from headgate.functions.sink import Committer, Sink, SinkContext, SinkIdentity, SinkWriter
from headgate.ids import Attempt, CheckpointId, JobId, Lineage

_DRIVER: Final = "5f0c9c41"

JOB: Final = SinkIdentity(job_id=JobId("1" * 32), lineage=Lineage("a" * 32, 1_000, _DRIVER), uid="sink")
OTHER_JOB: Final = SinkIdentity(job_id=JobId("1" * 31 + "2"), lineage=Lineage("a" * 31 + "b", 2_000), uid="sink")
"""Another job, whose id is almost the same."""
OTHER_LINEAGE: Final = SinkIdentity(job_id=JOB.job_id, lineage=Lineage("c" * 32, 3_000, _DRIVER), uid="sink")
"""The same job id with other storage: attempts and checkpoints are counted from the beginning."""
SAVEPOINT: Final = "5a" * 16


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTarget:
    """An empty target with a sink to it, and a function that returns what a reader of the target sees now.

    `be_away(True)` makes the target unavailable until `be_away(False)`; `lose()` deletes all results prepared but not
    committed; `lose_power()` loses all data that is not durable. Each may be None, where a test cannot do this.
    """

    sink: Sink[Any]
    read: Callable[[], list[Any]]
    be_away: Callable[[bool], None] | None = None
    lose: Callable[[], None] | None = None
    lose_power: Callable[[], None] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SinkCase:
    """Makes empty targets, and holds a dozen or more records to write. Records must differ in their `repr`."""

    fresh: Callable[[], SinkTarget]
    records: list[Any]
    histories: int = 60
    """How many histories of stops and restarts to try; choose fewer where a fresh target is slow."""
    expires: str | None = None
    """Why the target cannot keep prepared results until another job commits them; None: it can."""


def sink_context(identity: SinkIdentity = JOB, subtask: int = 0, attempt: int = 1) -> SinkContext:
    """Return the context of one subtask of a sink, for one attempt."""
    return SinkContext(
        job_id=identity.job_id,
        lineage=identity.lineage,
        uid=identity.uid,
        subtask=subtask,
        parallelism=2,
        attempt=Attempt(attempt),
    )


Prepared = tuple[CheckpointId, list[Any]]
"""A checkpoint, and the committables prepared for it."""


@final
@dataclass(slots=True)
class SinkRun:
    """One subtask of a job that writes `records`, may be stopped, and restarts from its last checkpoint.

    If the sink has a global committer, the run also makes the calls of the driver.
    """

    target: SinkTarget
    records: list[Any]
    identity: SinkIdentity = JOB
    attempt: int = 1
    position: int = 0
    checkpoints: int = 0
    prepared: list[Prepared] = field(default_factory=list)
    durable: tuple[int, list[Prepared]] = (0, [])
    dead: list[SinkWriter[Any]] = field(default_factory=list)
    writer: SinkWriter[Any] = field(init=False)
    committer: Committer[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.writer, self.committer = open_sink(self.target.sink, sink_context(self.identity))
        self.committer.recover([])

    def write(self, count: int) -> None:
        """Write the next records."""
        self.writer.write(self.records[self.position : self.position + count])
        self.position = min(self.position + count, len(self.records))

    def prepare(self) -> None:
        """Take a checkpoint. If it never completes, the next checkpoint commits its results."""
        self._prepare()
        self.committer.secure(committables(self.prepared))

    def prepare_savepoint(self) -> None:
        """Take a savepoint."""
        self._prepare()
        self.committer.keep(committables(self.prepared), SAVEPOINT)
        self.committer.secure(committables(self.prepared))

    def _prepare(self) -> None:
        self.checkpoints += 1
        checkpoint_id = CheckpointId(self.checkpoints)
        self.prepared.append((checkpoint_id, self.writer.prepare_commit(checkpoint_id)))

    def complete(self) -> None:
        """Mark the checkpoint as complete."""
        self.durable = (self.position, pickle.loads(pickle.dumps(self.prepared)))  # noqa: S301

    def commit(self, count: int | None = None) -> None:
        """Commit the results of the complete checkpoint, or only the first `count` of them."""
        commit(self.target.sink, self.committer, self.durable[1], count)
        self.prepared = []

    def restart(self) -> None:
        """Start the next attempt at the complete checkpoint. The writer of the last one is not closed."""
        self.attempt += 1
        self.dead.append(self.writer)
        self.writer, self.committer = open_sink(self.target.sink, sink_context(self.identity, attempt=self.attempt))
        self.position, restored = self.durable
        self.committer.recover(committables(restored))
        commit(self.target.sink, self.committer, restored)
        self.prepared = []

    def close(self) -> None:
        """Close all writers, also the writers of dead attempts."""
        for writer in [*self.dead, self.writer]:
            writer.close()

    def finish(self) -> None:
        """Write the rest and commit it with a final checkpoint."""
        self.write(len(self.records))
        self.prepare()
        self.complete()
        self.commit()
        self.close()


def open_sink(sink: Sink[Any], context: SinkContext) -> tuple[SinkWriter[Any], Committer[Any]]:
    """Return writer and committer of a pickled and unpickled copy of the sink."""
    sent: Sink[Any] = pickle.loads(cloudpickle.dumps(sink))  # noqa: S301
    return sent.writer(context), sent.committer(context)


def committables(prepared: list[Prepared]) -> list[Any]:
    """Return the committables of some checkpoints, oldest first."""
    return [each for _, some in prepared for each in some]


def commit(sink: Sink[Any], committer: Committer[Any], prepared: list[Prepared], count: int | None = None) -> None:
    """Commit `prepared` as driver and subtask do when a checkpoint is complete.

    With `count`, stop after this many committables. With a global committer, stop after this many checkpoints, before
    the subtask is told.
    """
    driver = sink.global_committer()
    if driver is None:
        committer.commit(committables(prepared)[:count])
        return
    for checkpoint_id, some in [each for each in prepared if each[1]][:count]:
        driver.commit(checkpoint_id, some)
    if count is None:
        committer.commit(committables(prepared))


def _checkpoint(run: SinkRun) -> None:
    run.prepare()
    run.complete()
    run.commit()


def _stop_after_closing(run: SinkRun) -> None:
    run.writer.close()
    run.restart()


def _stop_between_checkpoint_and_commit(run: SinkRun) -> None:
    run.prepare()
    run.complete()
    run.restart()


def _stop_amid_the_commit(run: SinkRun) -> None:
    run.prepare()
    run.complete()
    run.commit(1)
    run.restart()


def _stop_before_the_commit_is_reported(run: SinkRun) -> None:
    _checkpoint(run)
    run.restart()


def _stop_before_the_checkpoint_is_complete(run: SinkRun) -> None:
    run.prepare()
    run.restart()


STEPS: Final[dict[str, Callable[[SinkRun], None]]] = {
    "checkpoint": _checkpoint,
    "abort a checkpoint": SinkRun.prepare,
    "kill": SinkRun.restart,
    "stop after closing": _stop_after_closing,
    "stop before the checkpoint is complete": _stop_before_the_checkpoint_is_complete,
    "stop between checkpoint and commit": _stop_between_checkpoint_and_commit,
    "stop amid the commit": _stop_amid_the_commit,
    "stop before the commit is reported": _stop_before_the_commit_is_reported,
}
"""What may happen to a job, by name."""
