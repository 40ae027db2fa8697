"""A start that is refused loses nothing: the next one, with the setting or file put right, goes on exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.checkpoint import paths
from headgate.common import Configuration, Types
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.functions import MapFunction
from headgate.datastream.state import ValueStateDescriptor
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import JOB, wait_until

pytestmark = pytest.mark.slow  # whole jobs

COUNT: Final = 4000
BURST: Final = 300
FAULTS: list[str] = []


@pytest.fixture(autouse=True)
def _clear() -> None:
    FAULTS.clear()


class Numbered(KeyedProcessFunction):
    """Yields each value with its number among those of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self.count.update((self.count.value() or 0) + 1)
        yield f"{value} {self.count.value()}"


class Faulty(MapFunction):
    """Fails as long as that is planned."""

    def map(self, value: str) -> str:
        if FAULTS:
            raise ValueError(FAULTS[0])
        return value


EXPECTED: Final = sorted(f"{value} {value // ledger.KEYS + 1}" for value in range(COUNT))


class Jobs:
    """Runs of one job, which writes to files exactly once."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        self.root = folder / "checkpoints"
        self.folder = self.root / JOB

    def start(self, **settings: str) -> Any:
        configuration = Configuration.from_dict(
            {
                "headgate.deploy.target": "minicluster",
                "headgate.job.id": JOB,
                "execution.checkpointing.dir": str(self.root),
                "execution.checkpointing.interval": "20 ms",
                "execution.checkpointing.data-inline-threshold": "0",
                "restart-strategy.type": "none",
                **settings,
            }
        )
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        sink = FileSink.for_row_format(str(self.out), Encoder.simple_string_encoder()).build()
        numbered = ledger.numbers(env, COUNT, BURST).key_by(ledger.key_of).process(Numbered()).uid("numbered")
        numbered.map(Faulty()).uid("faulty").sink_to(sink).uid("sink")
        return env.submit()

    def lose_driver(self) -> None:
        """Run until checkpoints hold output, then leave the folder as a driver that was killed does."""
        job = self.start(
            **{
                "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
                "execution.checkpointing.num-retained": "2",
            }
        )
        wait_until(lambda: len(job.progress.checkpoints) >= 4 and len(self.committed()) >= BURST, job)
        job.cancel()
        assert job.wait(120.0).status.word == "cancelled"
        (self.folder / paths.RESULT).unlink()

    def refused(self, **settings: str) -> str:
        """Start the job, which fails and leaves all that there was; return why."""
        before = self.files()
        outcome = self.start(**settings).wait(120.0)
        assert outcome.status.word == "failed"
        assert before.items() <= self.files().items()
        assert not (self.folder / paths.RESULT).exists()
        return str(outcome.cause)

    def files(self) -> dict[str, bytes]:
        """All that belongs to checkpoints, and output that waits for its commit."""
        found = [path for path in (*self.folder.rglob("*"), *self.out.rglob("*")) if path.is_file()]
        own = ("chk-", "shared", paths.COMPLETE, paths.STOPPED, str(self.out))
        return {
            name: path.read_bytes()
            for path in found
            if (name := str(path).removeprefix(f"{self.folder}/")).startswith(own)
        }

    def finish(self) -> None:
        """Run to the end; the output is exact."""
        HURRY.set()
        outcome = self.start().wait(120.0)
        assert (outcome.status.word, outcome.cause) == ("finished", None)
        assert self.committed() == EXPECTED

    def committed(self) -> list[str]:
        """The rows that are visible, in the order of texts."""
        files = (path for path in self.out.rglob("*") if path.is_file() and path.name[0] not in "._")
        return sorted(line for path in files for line in path.read_text().splitlines())

    def newest(self) -> Path:
        """The folder of the newest complete checkpoint; the next may have been under way."""
        return max(self.folder.glob("chk-*/_metadata"), key=lambda path: int(path.parent.name[4:])).parent


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


def test_another_max_parallelism_is_refused_and_costs_nothing(jobs: Jobs) -> None:
    jobs.lose_driver()
    assert "max parallelism" in jobs.refused(**{"pipeline.max-parallelism": "64"})
    assert "max parallelism" in jobs.refused(**{"pipeline.max-parallelism": "32"}), "it is asked again, not replayed"
    jobs.finish()


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [Path.unlink, flip], ids=["missing", "flipped"])
def test_a_state_file_that_is_damaged_is_brought_back_and_the_job_goes_on(
    damage: Callable[[Path], None], jobs: Jobs
) -> None:
    jobs.lose_driver()
    damaged = next(path for path in jobs.newest().iterdir() if "-numbered-" in path.name)
    whole = damaged.read_bytes()
    damage(damaged)
    assert str(damaged) in jobs.refused()
    damaged.write_bytes(whole)
    jobs.finish()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, empty, Path.unlink], ids=["cut", "emptied", "deleted"])
def test_a_newest_manifest_that_is_damaged_is_no_reason_to_write_output_twice(
    damage: Callable[[Path], None], jobs: Jobs
) -> None:
    jobs.lose_driver()
    manifest = jobs.newest() / paths.METADATA
    whole = manifest.read_bytes()
    damage(manifest)
    assert "missing, empty or cut short" in jobs.refused()
    manifest.write_bytes(whole)
    jobs.finish()


def test_duplicates_that_are_allowed_are_written_where_the_newest_manifest_is_gone(jobs: Jobs) -> None:
    jobs.lose_driver()
    (jobs.newest() / paths.METADATA).unlink()
    HURRY.set()
    outcome = jobs.start(**{"headgate.recovery.allow-duplicate-output": "true"}).wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    assert set(jobs.committed()) == set(EXPECTED)


def test_a_failure_before_the_first_checkpoint_of_a_driver_leaves_the_job_as_it_was(jobs: Jobs) -> None:
    jobs.lose_driver()
    newest = str(jobs.newest())
    FAULTS.append("planned")
    outcome = jobs.start(**{"execution.checkpointing.interval": "1 h"}).wait(120.0)
    cause = str(outcome.cause)
    assert "planned" in cause
    assert not (jobs.folder / paths.RESULT).exists()
    assert f"Nothing is deleted: its last checkpoint is {newest}: start the same program again" in cause
    FAULTS.clear()
    jobs.finish()


def test_a_job_that_has_failed_for_good_says_from_where_to_go_on_under_another_id(jobs: Jobs) -> None:
    job = jobs.start()
    wait_until(lambda: len(job.progress.checkpoints) >= 2, job)
    FAULTS.append("planned")
    cause = str(job.wait(120.0).cause)
    FAULTS.clear()
    assert str(jobs.start().wait(120.0).cause) == cause, "the stored failure"
    path = cause.partition("-Dexecution.state-recovery.path=")[2].partition(" ")[0]
    assert Path(path).parent == jobs.folder
    HURRY.set()
    outcome = jobs.start(**{"headgate.job.id": "ab" * 16, "execution.state-recovery.path": path}).wait(120.0)
    assert (outcome.status.word, outcome.cause) == ("finished", None)
    assert jobs.committed() == EXPECTED


@pytest.mark.parametrize("damage", [cut, empty])
def test_a_job_that_has_finished_does_not_run_again_because_its_result_is_damaged(
    damage: Callable[[Path], None], jobs: Jobs
) -> None:
    jobs.finish()
    result = jobs.folder / paths.RESULT
    whole = result.read_bytes()
    damage(result)
    outcome = jobs.start().wait(120.0)
    assert f"{result} is empty or cut short, but the job had ended" in str(outcome.cause)
    result.write_bytes(whole)
    jobs.finish()
