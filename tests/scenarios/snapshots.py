"""Jobs of which snapshots are taken, and jobs that start from those: each a job of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final

from headgate.checkpoint.manifest import Manifest, decode
from headgate.common import Configuration
from headgate.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import FULL, MAX_PARALLELISM

COUNT: Final = 600
TAKEN_AFTER: Final = 30
"""Records after which a snapshot is taken: then much is still under way to a slow operator."""


class Kind(Enum):
    """The kinds of snapshots."""

    CANONICAL = "canonical"
    NATIVE = "native"
    ALIGNED = "aligned"
    UNALIGNED = "unaligned"

    @property
    def is_savepoint(self) -> bool:
        """Whether a user takes it, into a folder of its own."""
        return self in (Kind.CANONICAL, Kind.NATIVE)


class Slow(ledger.Ledger):
    """A ledger that takes its time, so that records wait before it."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if not HURRY.is_set():
            time.sleep(0.001)
        return super().process_element(value, ctx)


def slow_ledger(env: StreamExecutionEnvironment) -> DataStream:
    """Return the entries of a slow ledger."""
    return ledger.numbers(env, COUNT, COUNT).key_by(ledger.key_of).process(Slow()).uid("ledger")


Program = Callable[[StreamExecutionEnvironment], DataStream]
Settings = dict[str, str]


class Snapshots:
    """Jobs in a folder."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self._settings = {
            "headgate.deploy.target": "minicluster",
            "headgate.batch.records": "4",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
            "execution.checkpointing.interval": "1 h",
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            "execution.checkpointing.data-inline-threshold": "1 b",
            "pipeline.max-parallelism": str(MAX_PARALLELISM),
            "restart-strategy.type": "none",
            **settings,
        }

    def environment(self, parallelism: int, settings: Settings) -> StreamExecutionEnvironment:
        """Return an environment for a job; an empty setting is left out."""
        chosen = {key: value for key, value in {**self._settings, **settings}.items() if value}
        configuration = Configuration.from_dict(chosen)
        return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)

    def take(self, kind: Kind, program: Program = slow_ledger, settings: Settings = FULL) -> str:
        """Run a job for a while, take a snapshot, and cancel the job; return where the snapshot is."""
        unaligned = {"execution.checkpointing.unaligned.enabled": "true"} if kind is Kind.UNALIGNED else {}
        env = self.environment(2, {**unaligned, **settings})
        ledger.seen_of(program(env))
        job: Any = env.submit()
        try:
            while len(ledger.SEEN) < TAKEN_AFTER:
                assert job.wait(0.002) is None, job.wait()
            location = _taken(job, kind)
            assert job.wait(0) is None, "all records were processed before the snapshot was taken"
        finally:
            job.cancel()
            job.wait(120.0)
        assert (kind is Kind.UNALIGNED) == bool(manifest_at(location).in_flight)
        return location

    def resume(
        self, location: str, program: Program = slow_ledger, parallelism: int = 2, settings: Settings = FULL
    ) -> Any:
        """Run a job from a snapshot to its end; return how it ended."""
        env = self.environment(parallelism, {"execution.state-recovery.path": location, **settings})
        ledger.seen_of(program(env))
        HURRY.set()
        return env.submit().wait(120.0)

    def goes_on(
        self, location: str, program: Program = slow_ledger, parallelism: int = 2, settings: Settings = FULL
    ) -> None:
        """Assert that a job goes on exactly where the snapshot was taken."""
        outcome = self.resume(location, program, parallelism, settings)
        assert outcome.status.word == "finished", outcome.cause
        ledger.check_seen(parallelism, COUNT)
        assert TAKEN_AFTER <= COUNT - len(ledger.SEEN) < COUNT

    def is_refused(self, location: str, reason: str, program: Program = slow_ledger, settings: Settings = FULL) -> None:
        """Assert that a job does not start from the snapshot, and says why."""
        outcome = self.resume(location, program, 2, settings)
        assert outcome.status.word == "failed"
        assert reason in outcome.cause
        assert ledger.SEEN == []


def _taken(job: Any, kind: Kind) -> str:
    """Take a snapshot; unaligned checkpoints until one of them finds something in flight."""
    location = ""
    while kind is Kind.UNALIGNED and not (location and manifest_at(location).in_flight):
        location = str(job.trigger_checkpoint().result(120.0))
    if location or not kind.is_savepoint:
        return location or str(job.trigger_checkpoint().result(120.0))
    return str(job.trigger_savepoint(None, SavepointFormat(kind.value)).result(120.0))


def manifest_at(location: str) -> Manifest:
    """Return the manifest of a snapshot."""
    path = Path(location, "_metadata")
    return decode(path.read_bytes(), str(path))
