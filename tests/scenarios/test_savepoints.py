"""S12, S20, S21, S23, S35: savepoints of all backends, in both formats, and what may change in jobs between them."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.datastream import DataStream, KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.errors import CheckpointError
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import CHANGELOG, FULL, INCREMENTAL, ROCKSDB, on_every_backend, wait_until
from tests.scenarios.snapshots import COUNT, TAKEN_AFTER, Kind, Settings, Slow, Snapshots, manifest_at, slow_ledger

pytestmark = pytest.mark.slow

UNALIGNED: Final = {
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.interval": "10 ms",
}
SAVEPOINTS: Final = (Kind.CANONICAL, Kind.NATIVE)
of_both_formats: Final = pytest.mark.parametrize("form", SAVEPOINTS, ids=lambda kind: kind.value)


@pytest.fixture
def jobs(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path)


# --- S12


class Striking(MapFunction):
    """Fails once, when half of the numbers have come."""

    struck = False

    def map(self, value: int) -> int:
        if value > COUNT // 2 and not Striking.struck:
            Striking.struck = True
            raise ValueError("planned")
        return value


def striking(env: StreamExecutionEnvironment) -> DataStream:
    numbers = ledger.numbers(env, COUNT, ledger.BURST).map(Striking()).uid("striking").set_parallelism(1)
    return numbers.key_by(ledger.key_of).process(ledger.Ledger()).uid("ledger")


@pytest.mark.parametrize("kind", [Kind.CANONICAL, Kind.NATIVE, Kind.ALIGNED], ids=lambda kind: kind.value)
def test_an_unaligned_job_goes_on_from_aligned_state_and_after_its_own_failure(kind: Kind, jobs: Snapshots) -> None:
    Striking.struck = False
    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 ms"}
    outcome = jobs.resume(jobs.take(kind), striking, settings={**UNALIGNED, **restarts})
    assert outcome.status.word == "finished", outcome.cause
    ledger.check_seen(2, COUNT)
    assert Striking.struck


@pytest.mark.parametrize("kind", [Kind.CANONICAL, Kind.NATIVE, Kind.ALIGNED], ids=lambda kind: kind.value)
def test_an_aligned_snapshot_of_a_job_that_began_with_data_in_flight_goes_on(kind: Kind, jobs: Snapshots) -> None:
    """Unaligned, then a savepoint or an aligned checkpoint of the job that started from that, then a third job."""
    first = jobs.take(Kind.UNALIGNED)
    second = jobs.take(kind, settings={"execution.state-recovery.path": first})
    jobs.goes_on(second, parallelism=3)


def test_savepoints_of_an_unaligned_job_have_nothing_in_flight(jobs: Snapshots) -> None:
    location = jobs.take(Kind.CANONICAL, settings={**UNALIGNED, "execution.checkpointing.interval": "1 h"})
    jobs.goes_on(location)


@on_every_backend
def test_a_job_that_prefers_no_checkpoint_restarts_from_a_newer_savepoint(backend: Settings, jobs: Snapshots) -> None:
    restored, outcome = restarted(jobs, {**backend, PREFER: "false"})
    assert restored == "a savepoint"
    assert outcome.status.word == "finished", outcome.cause
    ledger.check_seen(2, COUNT)


@on_every_backend
def test_it_restarts_from_the_checkpoint_when_the_savepoint_is_gone(backend: Settings, jobs: Snapshots) -> None:
    restored, outcome = restarted(jobs, {**backend, PREFER: "false"}, keeps_savepoint=False)
    assert restored == "a checkpoint"
    assert outcome.status.word == "finished", outcome.cause
    ledger.check_seen(2, COUNT)


def test_by_default_a_job_restarts_from_its_checkpoint(jobs: Snapshots) -> None:
    assert restarted(jobs, {})[0] == "a checkpoint"
    ledger.check_seen(2, COUNT)


PREFER: Final = "execution.checkpointing.prefer-checkpoint-for-recovery"


class Breaking(MapFunction):
    """Fails once, when it is told to."""

    breaks = threading.Event()

    def map(self, value: int) -> int:
        if Breaking.breaks.is_set():
            Breaking.breaks.clear()
            raise ValueError("planned")
        return value


def breaking(env: StreamExecutionEnvironment) -> DataStream:
    numbers = ledger.numbers(env, COUNT, ledger.BURST).map(Breaking()).uid("breaking").set_parallelism(1)
    return numbers.key_by(ledger.key_of).process(Slow()).uid("ledger")


def restarted(jobs: Snapshots, settings: Settings, *, keeps_savepoint: bool = True) -> tuple[str, Any]:
    """Run a job that takes a checkpoint, then a savepoint, and then fails; return what it restarted from."""
    Breaking.breaks.clear()
    once = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 ms"}
    env = jobs.environment(2, {**once, **settings})
    ledger.seen_of(breaking(env))
    job: Any = env.submit()
    wait_until(lambda: len(ledger.SEEN) > TAKEN_AFTER, job)
    job.trigger_checkpoint().result(120.0)
    location = job.trigger_savepoint(None, SavepointFormat.CANONICAL).result(120.0)
    if not keeps_savepoint:
        shutil.rmtree(location)
    Breaking.breaks.set()
    wait_until(lambda: job.progress.statistics.latest.restored is not None, job)
    restored = job.progress.statistics.latest.restored
    HURRY.set()
    return "a savepoint" if restored.is_savepoint else "a checkpoint", job.wait(120.0)


# --- S20, S23


@of_both_formats
@on_every_backend
def test_a_savepoint_is_complete_and_movable_whatever_checkpoints_are(
    backend: Settings, form: Kind, jobs: Snapshots
) -> None:
    location = Path(jobs.take(form, settings={**backend, "execution.checkpointing.interval": "10 ms"}))
    named = {location / path for path in manifest_at(str(location)).files()}
    assert named | {location / "_metadata"} == {path for path in location.rglob("*") if path.is_file()}
    assert manifest_at(str(location)).savepoint is SavepointFormat(form.value)
    moved = shutil.move(location, location.with_name("moved"))
    shutil.rmtree(jobs.folder / "checkpoints")
    jobs.goes_on(str(moved), parallelism=3, settings={**backend, "execution.checkpointing.interval": "10 ms"})


@of_both_formats
def test_jobs_go_on_from_savepoints_of_each_other(form: Kind, jobs: Snapshots) -> None:
    location = jobs.take(form)
    for backend in (INCREMENTAL, CHANGELOG):
        location = jobs.take(form, settings={**backend, "execution.state-recovery.path": location})
    jobs.goes_on(location)


@pytest.mark.parametrize(
    "without",
    [{"execution.checkpointing.interval": ""}, {"execution.checkpointing.storage": "jobmanager"}],
    ids=["no checkpoints", "in the driver's memory"],
)
@of_both_formats
def test_a_savepoint_needs_no_checkpoints(form: Kind, without: Settings, jobs: Snapshots) -> None:
    jobs.goes_on(jobs.take(form, settings=without))


def test_without_a_folder_a_savepoint_fails_and_the_job_goes_on(jobs: Snapshots, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("in the way")
    with pytest.raises(CheckpointError, match="a file"):
        jobs.take(Kind.CANONICAL, settings={"execution.checkpointing.savepoint-dir": str(tmp_path / "a file")})


def test_a_savepoint_that_is_not_there_is_refused_by_its_path(jobs: Snapshots) -> None:
    location = str(jobs.folder / "savepoints" / "savepoint-none")
    jobs.is_refused(location, f"there is no snapshot at {location}, which does not exist")


def test_a_savepoint_with_a_file_missing_is_refused_by_the_name_of_the_file(jobs: Snapshots) -> None:
    location = Path(jobs.take(Kind.CANONICAL))
    lost = next(location.glob("*values.parquet"))
    lost.unlink()
    jobs.is_refused(str(location), f"{lost} is missing")


# --- S21


def other_way(env: StreamExecutionEnvironment) -> DataStream:
    """The ledger where the operators around it have changed: some new, some gone, in another order."""
    numbers = ledger.numbers(env, COUNT, COUNT).map(lambda value: value + 0).uid("new")
    return numbers.filter(lambda value: True).key_by(ledger.key_of).process(Slow()).name("other").uid("ledger")


class Twice(ledger.Ledger):
    """A second ledger, of what comes out of the first: the same, of each key as many."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        *_, last = value[3]
        for entry in super().process_element(last, ctx):
            assert entry[2:] == value[2:]
            yield entry


def of_two(env: StreamExecutionEnvironment) -> DataStream:
    return slow_ledger(env).key_by(lambda entry: entry[0]).process(Twice()).uid("second").disable_chaining()


def of_two_listed_the_other_way_round(env: StreamExecutionEnvironment) -> DataStream:
    """The same, built so that the second is the one with the smaller number."""
    numbers = ledger.numbers(env, COUNT, COUNT).filter(lambda value: True).uid("filter")
    entries = numbers.key_by(ledger.key_of).process(Slow()).uid("ledger").map(lambda entry: entry).uid("same")
    return entries.key_by(lambda entry: entry[0]).process(Twice()).uid("second")


@of_both_formats
def test_operators_without_state_come_go_and_change(form: Kind, jobs: Snapshots) -> None:
    jobs.goes_on(jobs.take(form), other_way, parallelism=3)
    jobs.goes_on(jobs.take(form, other_way), slow_ledger)


@of_both_formats
def test_state_follows_its_uid_through_a_program_in_another_order(form: Kind, jobs: Snapshots) -> None:
    jobs.goes_on(jobs.take(form, of_two), of_two_listed_the_other_way_round)


@of_both_formats
def test_state_of_an_operator_that_is_gone_is_left_behind_only_if_that_is_wanted(form: Kind, jobs: Snapshots) -> None:
    location = jobs.take(form, of_two)
    jobs.is_refused(location, "has state of operator 'KEYED PROCESS' (uid 'second')")
    jobs.goes_on(location, settings={"execution.state-recovery.ignore-unclaimed-state": "true"})


# --- S35


@pytest.mark.parametrize("kind", [Kind.CANONICAL, Kind.NATIVE, Kind.ALIGNED], ids=lambda kind: kind.value)
@pytest.mark.parametrize("backend", [FULL, ROCKSDB], ids=["hashmap", "rocksdb"])
def test_a_changelog_is_turned_on_and_off_again(backend: Settings, kind: Kind, jobs: Snapshots) -> None:
    frequent = {"execution.checkpointing.interval": "10 ms"}
    plain = jobs.take(kind, settings=backend)
    logged = jobs.take(kind, settings={**backend, **CHANGELOG, **frequent, "execution.state-recovery.path": plain})
    jobs.goes_on(logged, settings={**backend, **frequent})
    jobs.goes_on(plain, settings={**backend, **CHANGELOG, **frequent}, parallelism=3)


def test_the_checkpoints_of_a_job_that_began_with_a_savepoint_name_none_of_its_files(jobs: Snapshots) -> None:
    first = Path(jobs.take(Kind.NATIVE, settings=INCREMENTAL))
    settings = {**INCREMENTAL, "execution.state-recovery.path": str(first)}
    second = jobs.take(Kind.ALIGNED, settings=settings)
    shutil.rmtree(first)
    jobs.goes_on(second)
