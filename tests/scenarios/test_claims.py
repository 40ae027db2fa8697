"""S19, S36, S43: chains of jobs, each from what the one before it retained; damage, and drivers that start again."""

from __future__ import annotations

import uuid
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.checkpoint.cleanup.deletion import dispose_savepoint
from headgate.checkpoint.file_store import FileSystemStore
from headgate.common import Configuration
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import FULL, INCREMENTAL, ROCKSDB, on_every_backend, wait_until
from tests.scenarios.snapshots import Kind, Settings, Snapshots, manifest_at

pytestmark = pytest.mark.slow

COUNT: Final = 1200
OFTEN: Final = {"execution.checkpointing.interval": "15 ms"}


@pytest.fixture
def jobs(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path, **OFTEN)


def submitted(jobs: Snapshots, *settings: Settings, parallelism: int = 2) -> Any:
    env = jobs.environment(parallelism, {key: value for each in settings for key, value in each.items()})
    ledger.seen_of(ledger.written(env, COUNT))
    return env.submit()


def from_snapshot(location: str, claim_mode: str) -> Settings:
    return {"execution.state-recovery.path": location, "execution.state-recovery.claim-mode": claim_mode}


def retained_by(job: Any, jobs: Snapshots, checkpoints: int = 4) -> list[str]:
    """Let a job make some checkpoints, then cancel it; return which it has retained, oldest first."""
    wait_until(lambda: len(job.progress.checkpoints) >= checkpoints, job)
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    found = (jobs.folder / "checkpoints" / job.plan.job_id).glob("chk-*/_metadata")
    return sorted((str(path.parent) for path in found), key=lambda location: int(location.rpartition("-")[2]))


def finished(job: Any, parallelism: int = 2) -> None:
    HURRY.set()
    outcome = job.wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    ledger.check_seen(parallelism, COUNT)


def is_whole(location: str) -> bool:
    """Whether the snapshot and all files that it names are there."""
    root = Path(location).parent if manifest_at(location).savepoint is None else Path(location)
    return all((root / path).exists() for path in manifest_at(location).files())


# --- claim modes


@on_every_backend
def test_a_chain_of_jobs_in_which_each_claims_nothing_leaves_every_snapshot_as_it_was(
    backend: Settings, jobs: Snapshots
) -> None:
    locations: list[str] = []
    for parallelism in (2, 3, 1):
        mode = from_snapshot(locations[-1], "NO_CLAIM") if locations else {}
        locations += retained_by(submitted(jobs, backend, mode, parallelism=parallelism), jobs)
    assert all(is_whole(location) for location in locations)
    for location in locations:  # any of them is a good beginning, as often as one likes
        finished(submitted(jobs, backend, from_snapshot(location, "NO_CLAIM")))


@on_every_backend
def test_a_chain_of_jobs_in_which_each_claims_the_snapshot_before_it_leaves_only_the_last(
    backend: Settings, jobs: Snapshots
) -> None:
    [location] = retained_by(submitted(jobs, backend), jobs)
    for parallelism in (3, 1):
        before = location
        mode = from_snapshot(before, "CLAIM")
        [location] = retained_by(submitted(jobs, backend, mode, parallelism=parallelism), jobs)
        assert not Path(before).exists()
        assert [path for path in Path(before).parent.rglob("*") if path.parent.name == "shared"] == []
        assert is_whole(location)
    finished(submitted(jobs, backend, from_snapshot(location, "CLAIM")))


@pytest.mark.parametrize("form", [Kind.CANONICAL, Kind.NATIVE], ids=lambda kind: kind.value)
def test_a_claimed_savepoint_goes_and_what_came_of_it_goes_on(form: Kind, jobs: Snapshots) -> None:
    job = submitted(jobs, INCREMENTAL)
    wait_until(lambda: len(ledger.SEEN) > ledger.BURST, job)
    location = job.trigger_savepoint(None, SavepointFormat(form.value)).result(120.0)
    job.cancel()
    job.wait(120.0)
    [own] = retained_by(submitted(jobs, INCREMENTAL, from_snapshot(location, "CLAIM")), jobs)
    assert not Path(location).exists()
    finished(submitted(jobs, INCREMENTAL, from_snapshot(own, "NO_CLAIM"), parallelism=3), 3)


def test_what_other_retained_checkpoints_need_of_a_claimed_one_stays(jobs: Snapshots) -> None:
    three = {**INCREMENTAL, "execution.checkpointing.num-retained": "3"}
    older, middle, newest = retained_by(submitted(jobs, three), jobs, checkpoints=6)
    retained_by(submitted(jobs, INCREMENTAL, from_snapshot(newest, "CLAIM")), jobs)
    assert not Path(newest).exists()
    for location in (older, middle):
        assert is_whole(location)
        finished(submitted(jobs, INCREMENTAL, from_snapshot(location, "NO_CLAIM")))


def test_a_snapshot_of_a_path_that_is_not_there_is_refused_before_anything_runs(jobs: Snapshots) -> None:
    job = submitted(jobs, from_snapshot(str(jobs.folder / "nowhere"), "NO_CLAIM"))
    outcome = job.wait(120.0)
    assert outcome.status.word == "failed"
    assert f"there is no snapshot at {jobs.folder}/nowhere" in outcome.cause
    assert ledger.SEEN == []


def test_a_savepoint_that_was_disposed_of_is_gone_and_refused(jobs: Snapshots) -> None:
    job = submitted(jobs)
    wait_until(lambda: len(ledger.SEEN) > 0, job)
    location = job.trigger_savepoint(None, SavepointFormat.CANONICAL).result(120.0)
    job.cancel()
    job.wait(120.0)
    dispose_savepoint(location, FileSystemStore.open_folder)
    assert not Path(location).exists()
    assert "there is no snapshot at" in submitted(jobs, from_snapshot(location, "NO_CLAIM")).wait(120.0).cause


# --- damage


def broken(location: str) -> None:
    """Change one file that the checkpoint names, but not its size."""
    root = Path(location).parent
    file = root / min(manifest_at(location).files())
    file.write_bytes(bytes(byte ^ 255 for byte in file.read_bytes()))


@pytest.mark.parametrize("backend", [FULL, ROCKSDB], ids=["hashmap", "rocksdb"])
def test_a_job_that_repeats_no_output_goes_back_to_an_older_checkpoint_when_a_slot_finds_the_newest_damaged(
    backend: Settings, jobs: Snapshots
) -> None:
    same = {
        "headgate.job.id": uuid.uuid4().hex,
        "execution.checkpointing.num-retained": "2",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 ms",
        **backend,
    }
    newest = retained_by(submitted(jobs, same), jobs)[-1]
    (Path(newest).parent / "_result").unlink()
    broken(newest)
    job = submitted(jobs, same, {"execution.checkpointing.interval": "1 h"})
    HURRY.set()
    assert job.wait(120.0).status.word == "finished"
    ledger.check_seen(2, COUNT)
    assert job.progress.restarts == 1


# --- drivers that start again


def test_a_program_with_a_job_id_that_is_started_twice_at_one_time_goes_on_in_the_later_driver_only(
    jobs: Snapshots,
) -> None:
    same = {"headgate.job.id": uuid.uuid4().hex}
    first = submitted(jobs, same)
    wait_until(lambda: len(first.progress.checkpoints) >= 2, first)
    env = jobs.environment(2, same)
    ledger.written(env, COUNT).add_sink(ledger.Seeing()).uid("seen")
    second = env.submit()
    outcome = first.wait(120.0)
    assert outcome.status.word == "failed"
    assert "the job was taken over by a later driver (epoch 2; this one has epoch 1)" in outcome.cause
    ledger.SEEN.clear()
    HURRY.set()
    ended = second.wait(120.0)
    assert ended is not None
    assert ended.status.word == "finished", ended.cause
    assert ledger.SEEN
    ledger.check_prefix(2)


def test_a_driver_that_starts_again_retains_what_the_one_before_it_retained(jobs: Snapshots) -> None:
    same = {**INCREMENTAL, "headgate.job.id": uuid.uuid4().hex, "execution.checkpointing.num-retained": "3"}
    older = retained_by(submitted(jobs, same), jobs, checkpoints=6)
    assert len(older) == 3
    (Path(older[0]).parent / "_result").unlink()
    newer = retained_by(submitted(jobs, same), jobs, checkpoints=1)
    assert older[-1] in newer
    assert len(newer) == 3
    assert all(is_whole(location) for location in newer)


def test_a_program_with_a_job_id_that_has_ended_is_not_run_again(jobs: Snapshots) -> None:
    same = {"headgate.job.id": uuid.uuid4().hex}
    finished(submitted(jobs, same))
    again = submitted(jobs, same)
    assert again.wait(120.0).status.word == "finished"
    assert ledger.SEEN == []


# --- the number of key groups


def run_from(location: str, folder: Path, **settings: str) -> Any:
    """Run a job that says nothing of its max parallelism, but for these settings; return how it ended."""
    configuration = Configuration.from_dict(
        {
            "headgate.deploy.target": "minicluster",
            "execution.checkpointing.dir": str(folder),
            "execution.state-recovery.path": location,
            **settings,
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    ledger.seen_of(ledger.written(env, COUNT))
    HURRY.set()
    return env.submit().wait(120.0)


@pytest.mark.parametrize("key_groups", [64, 256])
def test_state_keeps_its_number_of_key_groups_where_the_program_sets_none_and_refuses_another(
    key_groups: int, tmp_path: Path
) -> None:
    jobs = Snapshots(tmp_path, **OFTEN)
    [location] = retained_by(submitted(jobs, {"pipeline.max-parallelism": str(key_groups)}), jobs)
    refused = run_from(location, tmp_path, **{"pipeline.max-parallelism": "128"})
    assert f"was written with max parallelism {key_groups}, which is fixed for the life of the state" in refused.cause
    assert ledger.SEEN == []
    outcome = run_from(location, tmp_path)
    assert outcome.status.word == "finished", outcome.cause
    assert Counter(entry[0] for entry in ledger.SEEN if entry[2] == 1) == {}, "state went on, and did not begin again"
    assert {entry[0]: entry[2] for entry in ledger.SEEN} == Counter(ledger.key_of(value) for value in range(COUNT))


# --- operators that had no uid


def test_state_of_an_operator_without_a_uid_is_found_by_its_hash_when_the_program_has_changed(jobs: Snapshots) -> None:
    def entries(env: StreamExecutionEnvironment) -> DataStream:
        return ledger.numbers(env, COUNT, ledger.BURST).key_by(ledger.key_of).process(ledger.Ledger())

    env = jobs.environment(2, FULL)
    ledger.seen_of(entries(env))
    [location] = retained_by(env.submit(), jobs)
    [generated] = [each.uid for each in manifest_at(location).operators if each.name == "KEYED PROCESS"]
    env = jobs.environment(2, from_snapshot(location, "NO_CLAIM"))
    ledger.seen_of(entries(env).uid("ledger"))
    refused: Any = env.submit().wait(120.0)
    assert "no operator of that uid" in refused.cause
    env = jobs.environment(2, from_snapshot(location, "NO_CLAIM"))
    ledger.seen_of(entries(env).uid("ledger").set_uid_hash(generated))
    finished(env.submit())
