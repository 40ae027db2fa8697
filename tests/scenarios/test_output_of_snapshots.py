"""Output that has been prepared, and that a savepoint or a retained checkpoint names, is there for the next job."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Configuration
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.functions import MapFunction
from headgate.elements import SavepointFormat
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY

COUNT: Final = 4000
BURST: Final = 50
FAULTS: list[str] = []


@pytest.fixture(autouse=True)
def _clear() -> None:
    FAULTS.clear()


class Faulty(MapFunction):
    """Fails once when that is planned."""

    def map(self, value: int) -> int:
        if FAULTS:
            raise ValueError(FAULTS.pop())
        return value


class Jobs:
    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        self._folder = folder

    def start(self, burst: int = BURST, **settings: str) -> Any:
        configuration = Configuration.from_dict(
            {
                "headgate.deploy.target": "minicluster",
                "execution.checkpointing.dir": str(self._folder / "checkpoints"),
                "execution.checkpointing.savepoint-dir": str(self._folder / "savepoints"),
                "execution.checkpointing.interval": "1 h",
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.delay": "0 ms",
                **settings,
            }
        )
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
        sink = FileSink.for_row_format(str(self.out), Encoder.simple_string_encoder()).build()
        ledger.numbers(env, COUNT, burst).map(Faulty()).uid("map").sink_to(sink).uid("sink")
        return env.submit()

    def resume(self, location: str) -> None:
        HURRY.set()
        outcome = self.start(COUNT, **{"execution.state-recovery.path": location}).wait(120.0)
        assert (outcome.status.word, outcome.cause) == ("finished", None)

    def committed(self) -> list[int]:
        files = (path for path in self.out.rglob("*") if path.is_file() and path.name[0] not in "._")
        return sorted(int(line) for path in files for line in path.read_text().splitlines())


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


def savepoint_of(job: Any) -> str:
    while sum(job.progress.records_in.values()) < BURST:
        assert job.wait(0.005) is None
    return str(job.trigger_savepoint(None, SavepointFormat.CANONICAL).result(120.0))


def test_a_job_that_is_cancelled_after_a_savepoint_leaves_the_output_that_the_savepoint_is_to_commit(
    jobs: Jobs,
) -> None:
    job = jobs.start()
    location = savepoint_of(job)
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    assert jobs.committed() == []
    jobs.resume(location)
    assert jobs.committed() == list(range(COUNT))


def test_a_job_that_goes_back_behind_a_savepoint_leaves_the_output_that_the_savepoint_is_to_commit(
    jobs: Jobs,
) -> None:
    job = jobs.start()
    location = savepoint_of(job)
    FAULTS.append("planned fault")
    while not job.progress.restarts or sum(job.progress.records_in.values()) < BURST:
        assert job.wait(0.005) is None
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    jobs.resume(location)
    assert jobs.committed() == list(range(COUNT))
