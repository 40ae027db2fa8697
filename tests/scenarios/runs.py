"""Jobs that are stopped and go on: several runs of one job, each from the last checkpoint of the one before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.manifest import Manifest, decode
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.handles.running_job import RunningJob
from headgate.ids import CheckpointId, JobId
from headgate.runtime.monitoring.outcome import JobOutcome
from headgate.state.files import KeyedState

JOB: Final = JobId("5ce7a710" * 4)
MAX_PARALLELISM: Final = 24

FULL: Final[dict[str, str]] = {}
INCREMENTAL: Final = {"execution.checkpointing.incremental": "true"}
CHANGELOG: Final = {
    "state.changelog.enabled": "true",
    "headgate.changelog.cut-interval": "10 ms",
    "state.changelog.periodic-materialize.interval": "60 ms",
}
ROCKSDB: Final = {"state.backend.type": "rocksdb"}
BACKENDS: Final = {
    "hashmap, full": FULL,
    "hashmap, incremental": INCREMENTAL,
    "hashmap, changelog": CHANGELOG,
    "rocksdb, full": ROCKSDB,
    "rocksdb, incremental": {**ROCKSDB, **INCREMENTAL},
    "rocksdb, changelog": {**ROCKSDB, **CHANGELOG},
}
"""What a job has to be set to for each way to keep its state."""

INCREMENTAL_BACKENDS: Final = {name: settings for name, settings in BACKENDS.items() if "full" not in name}


def _with_marks(names: Iterable[str]) -> list[Any]:
    """Return parameters of these backends; those of RocksDB take longer, and wait for the whole suite.

    The halves of one of them are in two other ones: RocksDB, and whole snapshots.
    """
    marks = {"rocksdb, full": (pytest.mark.soak, pytest.mark.long)}
    return [
        pytest.param(BACKENDS[name], id=name, marks=marks.get(name, pytest.mark.slow if "rocksdb" in name else ()))
        for name in names
    ]


on_every_backend: Final = pytest.mark.parametrize("backend", _with_marks(BACKENDS))
on_incremental_backends: Final = pytest.mark.parametrize("backend", _with_marks(INCREMENTAL_BACKENDS))


class Runs:
    """Runs of one job. Its checkpoints are retained when it is cancelled, and nothing else of it is."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
        self.folder = folder / JOB
        self._settings = {
            "headgate.deploy.target": "minicluster",
            "execution.checkpointing.dir": str(folder),
            "execution.checkpointing.interval": "20 ms",
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            "pipeline.max-parallelism": str(MAX_PARALLELISM),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "0 ms",
            "restart-strategy.fixed-delay.attempts": "20",
            **settings,
        }
        # There is no public way yet to start a job from a checkpoint of another. A driver that takes a job up again
        # after the one before it has gone does the same, and that is how it looks.
        monkeypatch.setattr("headgate.datastream.stream_execution_environment.new_job_id", lambda _: JOB)

    def environment(self, parallelism: int, **settings: str) -> StreamExecutionEnvironment:
        """An environment for the next run."""
        (self.folder / paths.RESULT).unlink(missing_ok=True)
        configuration = Configuration.from_dict({**self._settings, **settings})
        return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)

    def stop(self, env: StreamExecutionEnvironment, checkpoints: int = 4) -> None:
        """Run until some checkpoints are complete, then cancel."""
        job: Any = env.submit()
        wait_until(lambda: len(job.progress.checkpoints) >= checkpoints, job)
        job.cancel()
        assert job.wait(120.0).status.word == "cancelled"
        assert self.manifests() != []

    def finish(self, env: StreamExecutionEnvironment) -> JobOutcome:
        """Run to the end."""
        outcome = env.submit().wait(120.0)
        assert outcome is not None
        assert outcome.status.word == "finished", outcome.cause
        return outcome

    def manifests(self) -> list[Manifest]:
        """Return the manifests of all checkpoints that are there, oldest first."""
        found = [decode(path.read_bytes(), str(path)) for path in self.folder.glob("chk-*/_metadata")]
        return sorted(found, key=lambda manifest: manifest.checkpoint_id)

    def keyed(self, uid: str) -> list[KeyedState]:
        """Return the keyed state of an operator's subtasks in the newest checkpoint."""
        operators = {operator.uid: operator for operator in self.manifests()[-1].operators}
        return [state.keyed for state in operators[uid].subtasks.values() if state.keyed is not None]

    def missing(self) -> list[str]:
        """Return the files that a checkpoint names and that are not there."""
        named = {path for manifest in self.manifests() for path in manifest.files()}
        return [path for path in named if not (self.folder / path).exists()]

    @property
    def latest(self) -> CheckpointId:
        """The newest checkpoint that is there."""
        return self.manifests()[-1].checkpoint_id


def wait_until(holds: Callable[[], bool], job: RunningJob) -> None:
    """Block until something is so, but not when the job has ended without."""
    while not holds():
        assert job.wait(0.005) is None, f"the job has ended: {job.wait()}"
        time.sleep(0)
