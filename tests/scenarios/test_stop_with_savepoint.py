"""S22: jobs that end with a savepoint, drained or not, with failures on the way; what is committed is exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Configuration, WatermarkStrategy
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.elements import SavepointFormat
from headgate.errors import CheckpointError
from headgate.job_status import JobStatus
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import FULL, MAX_PARALLELISM

COUNT: Final = 400
FAR_MS: Final = 10**6
"""Beyond the time that the records reach, so that timers fire at the end of the input."""

BURST: Final = 100
NO_CHECKPOINTS: Final = {"execution.checkpointing.interval": "1 h"}
PLANNED: set[str] = set()
"""What fails still, once each."""

both_ways: Final = pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])


def strike(what: str) -> None:
    if what in PLANNED:
        PLANNED.remove(what)
        raise ValueError(f"planned fault: {what}")


class Reminding(KeyedProcessFunction, CheckpointedFunction, CheckpointListener):
    """Yields `seen <value>` for each record, and `due <value>` when all are there. Fails where that is planned."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        pass

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(FAR_MS + value)
        yield f"seen {value}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        strike("timer")
        yield f"due {timestamp - FAR_MS}"

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        strike("snapshot")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        strike("completed")


class Jobs:
    """Jobs in a folder, that write what they commit into files there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        PLANNED.clear()

    def start(self, burst: int = BURST, settings: dict[str, str] = FULL) -> Any:
        """Start a job, that takes the numbers up to `burst` at once, and the rest slowly."""
        HURRY.clear()
        configuration = Configuration.from_dict(
            {
                "headgate.deploy.target": "minicluster",
                "execution.checkpointing.dir": str(self._folder / "checkpoints"),
                "execution.checkpointing.savepoint-dir": str(self._folder / "savepoints"),
                "execution.checkpointing.interval": "20 ms",
                "execution.checkpointing.tolerable-failed-checkpoints": "100",
                "pipeline.max-parallelism": str(MAX_PARALLELISM),
                "pipeline.auto-watermark-interval": "10 ms",
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "3",
                "restart-strategy.fixed-delay.delay": "0 ms",
                **settings,
            }
        )
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
        numbers = ledger.numbers(env, COUNT, burst).assign_timestamps_and_watermarks(strategy).uid("times")
        reminding = numbers.key_by(ledger.key_of).process(Reminding()).uid("reminding")
        sink = FileSink.for_row_format(str(self._folder / "out"), Encoder.simple_string_encoder()).build()
        reminding.sink_to(sink).uid("sink")
        return env.submit()

    def resume(self, location: str) -> None:
        """Run a job from a savepoint to its end."""
        outcome = self.start(COUNT, {"execution.state-recovery.path": location}).wait(120.0)
        assert (outcome.status.word, outcome.cause) == ("finished", None)

    def committed(self, kind: str) -> list[int]:
        """Return the numbers of a kind that have been committed, by whichever job."""
        files = (path for path in (self._folder / "out").rglob("*") if path.is_file() and path.name[0] not in "._")
        lines = (line.split() for path in files for line in path.read_text().splitlines())
        return sorted(int(number) for found, number in lines if found == kind)

    def check_all(self) -> None:
        """Assert that all there is has been committed, and nothing twice."""
        assert self.committed("seen") == list(range(COUNT))
        assert self.committed("due") == list(range(COUNT))

    def check_stopped(self, *, fired: bool) -> None:
        """Assert that the records of a part are committed, and that their timers have fired or not."""
        seen = self.committed("seen")
        assert 0 < len(seen) < COUNT
        assert seen == list(range(len(seen)))
        assert self.committed("due") == (seen if fired else [])


def wait_for_checkpoints(job: Any, count: int) -> None:
    while len(job.progress.checkpoints) < count:
        assert job.wait(0.005) is None, job.wait()


def wait_for_start(job: Any) -> None:
    while job.status() is not JobStatus.RUNNING:
        assert job.wait(0.005) is None, job.wait()


def stop(job: Any, drain: bool) -> str:
    """Stop a job with a savepoint; return where that is, when the job has ended."""
    location = job.stop_with_savepoint(drain, None, SavepointFormat.CANONICAL).result(120.0)
    outcome = job.wait(120.0)
    assert (outcome.status.word, outcome.cause) == ("finished", None)
    return str(location)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


@pytest.mark.slow
@both_ways
def test_a_stopped_job_has_committed_all_that_its_savepoint_holds_and_the_next_one_does_the_rest(
    drain: bool, jobs: Jobs
) -> None:
    job = jobs.start()
    wait_for_checkpoints(job, 3)
    location = stop(job, drain)
    jobs.check_stopped(fired=drain)
    jobs.resume(location)
    jobs.check_all()


@both_ways
def test_a_failure_while_the_savepoint_is_taken_has_the_job_go_on(drain: bool, jobs: Jobs) -> None:
    job = jobs.start(settings=NO_CHECKPOINTS)
    wait_for_start(job)
    PLANNED.add("snapshot")
    stopping = job.stop_with_savepoint(drain, None, SavepointFormat.CANONICAL)
    with pytest.raises(CheckpointError, match="was not stopped with a savepoint"):
        stopping.result(120.0)
    assert job.wait(0) is None
    HURRY.set()
    assert job.wait(120.0).status.word == "finished"
    jobs.check_all()
    assert job.progress.restarts == 1


@pytest.mark.slow
def test_a_failure_of_a_drained_timer_has_the_job_go_on(jobs: Jobs) -> None:
    job = jobs.start()
    wait_for_checkpoints(job, 3)
    PLANNED.add("timer")
    with pytest.raises(CheckpointError, match=r"the job failed before it was complete: .*planned fault: timer"):
        job.stop_with_savepoint(True, None, SavepointFormat.CANONICAL).result(120.0)
    HURRY.set()
    assert job.wait(120.0).status.word == "finished"
    jobs.check_all()


def test_a_job_that_fails_for_good_says_why_it_is_not_stopped_with_a_savepoint_then_and_later(jobs: Jobs) -> None:
    job = jobs.start(settings={"restart-strategy.type": "none"})
    wait_for_checkpoints(job, 3)
    PLANNED.add("timer")
    while_it_runs = job.stop_with_savepoint(True, None, SavepointFormat.CANONICAL)
    with pytest.raises(CheckpointError, match=r"was not stopped with a savepoint: .*failed.*: .*planned fault: timer"):
        while_it_runs.result(120.0)
    assert job.wait(120.0).status.word == "failed"
    later = job.stop_with_savepoint(True, None, SavepointFormat.CANONICAL)
    with pytest.raises(CheckpointError, match=r"was not stopped with a savepoint: it has failed: .*fault: timer"):
        later.result(120.0)


@pytest.mark.slow
@both_ways
def test_a_failure_after_the_savepoint_is_recorded_still_ends_the_job_with_it(drain: bool, jobs: Jobs) -> None:
    job = jobs.start(settings=NO_CHECKPOINTS)
    wait_for_start(job)
    PLANNED.add("completed")
    location = stop(job, drain)
    assert job.progress.restarts == 1
    assert set() == PLANNED
    jobs.check_stopped(fired=drain)
    jobs.resume(location)
    jobs.check_all()


@pytest.mark.slow
@both_ways
def test_input_that_ends_meanwhile_is_committed_whichever_way_the_job_ends(drain: bool, jobs: Jobs) -> None:
    job = jobs.start()
    wait_for_checkpoints(job, 2)
    HURRY.set()
    try:
        location = stop(job, drain)
    except CheckpointError:  # the input ended first
        assert job.wait(120.0).status.word == "finished"
    else:
        jobs.resume(location)
    jobs.check_all()


@pytest.mark.slow
def test_a_savepoint_in_the_midst_commits_nothing_and_disturbs_nothing(jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.start()
    wait_for_checkpoints(job, 2)
    location = job.trigger_savepoint(None, SavepointFormat.NATIVE).result(120.0)
    HURRY.set()
    assert job.wait(120.0).status.word == "finished"
    jobs.check_all()
    other = Jobs(tmp_path / "other")
    other.resume(location)
    assert other.committed("due") == list(range(COUNT))
    seen = other.committed("seen")
    assert seen == list(range(COUNT - len(seen), COUNT))
