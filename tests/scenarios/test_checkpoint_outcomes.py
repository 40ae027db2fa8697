"""S24 to S27: checkpoints after the end of input, given up ones, failed ones, late ones, and who is told of them."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Configuration, Types
from headgate.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.datastream.state import ValueStateDescriptor
from tests.scenarios.paced import HURRY, Paced

HEARD: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
"""What each operator of each subtask was told of checkpoints: ("completed", id) or ("aborted", id)."""

FAULTY: set[int] = set()
"""The checkpoints whose state cannot be written."""

SLOW: set[int] = set()
"""The checkpoints whose synchronous part takes longer than they may."""

UNALIGNED: Final = {"execution.checkpointing.unaligned.enabled": "true"}
PARALLELISM: Final = 2


@pytest.fixture(autouse=True)
def _clear() -> None:
    HEARD.clear()
    FAULTY.clear()
    SLOW.clear()


class Listening(CheckpointListener):
    """Notes what it is told of checkpoints."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard: list[tuple[str, int]] = []

    def listen(self, runtime_context: RuntimeContext) -> None:
        self.heard = HEARD[f"{self.name} {runtime_context.get_index_of_this_subtask()}"]

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.heard.append(("completed", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.heard.append(("aborted", checkpoint_id))


class Passing(Listening, MapFunction, CheckpointedFunction):
    """Passes records on; the synchronous part of some of its snapshots is slow."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.listen(runtime_context)

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        pass

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        Grudging.checkpoint_id = context.get_checkpoint_id()
        if context.get_checkpoint_id() in SLOW:
            time.sleep(0.2)

    def map(self, value: int) -> int:
        return value


class Grudging:
    """A value that cannot be pickled for some checkpoints, so that their asynchronous part fails."""

    checkpoint_id = 0

    def __getstate__(self) -> dict[str, Any]:
        if Grudging.checkpoint_id in FAULTY:
            raise ValueError("planned fault: not now")
        return {}


class Keeping(Listening, KeyedProcessFunction):
    """Keeps values that cannot always be stored."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.listen(runtime_context)
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self.kept.update(Grudging())
        yield value


def environment(folder: Path, **settings: str) -> StreamExecutionEnvironment:
    values = {
        "headgate.deploy.target": "minicluster",
        "execution.checkpointing.dir": str(folder),
        "execution.checkpointing.interval": "20 ms",
        "restart-strategy.type": "none",
        **settings,
    }
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values)).set_parallelism(2)


def start(env: StreamExecutionEnvironment, count: int = 2000) -> Any:
    """Start a job of a source, a map, a keyed operator and a sink, that listen; return the records that come out."""
    numbers = env.from_source(Paced(count, 100), None, "numbers").set_parallelism(1)
    keyed = numbers.rebalance().map(Passing("first")).key_by(lambda value: value % 50).process(Keeping("second"))
    return keyed.rebalance().map(Passing("third")).execute_and_collect()


def wait_for(job: Any, checkpoint_id: int) -> None:
    """Block until this checkpoint, or a later one, is complete."""
    while max((figures.checkpoint_id for figures in job.progress.checkpoints), default=0) < checkpoint_id:
        assert job.wait(0.005) is None, job.wait()


# --- S24


def short_and_long(env: StreamExecutionEnvironment) -> Any:
    """Start a job of two sources, one of which ends early."""
    few = env.from_source(Paced(20, 20), None, "few").uid("few").set_parallelism(1)
    many = env.from_source(Paced(1000, 100), None, "many").uid("many").set_parallelism(1)
    later = many.map(lambda value: 1000 + value).uid("later")
    return few.union(later).map(Passing("passing")).uid("passing").execute_and_collect()


def test_all_records_are_committed_by_one_checkpoint_at_the_end(tmp_path: Path) -> None:
    HURRY.set()
    records = short_and_long(environment(tmp_path, **{"execution.checkpointing.interval": "1 h"}))
    assert sorted(records) == [*range(20), *range(1000, 2000)]
    assert len(records._job.progress.checkpoints) == 1


@pytest.mark.slow
def test_checkpoints_go_on_when_a_source_has_ended_and_a_job_from_one_reads_none_of_it_again(tmp_path: Path) -> None:
    kept = {
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.num-retained": "1000",  # later ones do not replace the one that is started from
    }
    job = short_and_long(environment(tmp_path, **kept))._job
    wait_for(job, 4)
    location = job.trigger_checkpoint().result(120.0)
    job.cancel()
    job.wait(120.0)
    HURRY.set()
    rest = sorted(short_and_long(environment(tmp_path / "more", **{"execution.state-recovery.path": location})))
    assert rest == list(range(2000 - len(rest), 2000))
    assert 0 < len(rest) < 1000


@pytest.mark.slow
def test_a_job_may_have_no_checkpoints_after_a_source_has_ended_but_for_the_final_one(tmp_path: Path) -> None:
    off = {"execution.checkpointing.checkpoints-after-tasks-finish": "false"}
    records = short_and_long(environment(tmp_path, **off))
    job = records._job
    time_ms = 0
    while time_ms < 300 and job.wait(0.01) is None:
        time_ms += 10
    complete = len(job.progress.checkpoints)
    assert complete <= 1
    HURRY.set()
    assert sorted(records) == [*range(20), *range(1000, 2000)]
    assert len(job.progress.checkpoints) == complete + 1
    assert len(job.progress.failures) == 0


# --- S25


@pytest.mark.parametrize("settings", [{}, UNALIGNED], ids=["aligned", "unaligned"])
def test_every_operator_hears_of_a_checkpoint_that_was_given_up_once_and_of_the_later_ones(
    settings: dict[str, str], tmp_path: Path
) -> None:
    FAULTY.add(2)
    tolerant = {"execution.checkpointing.tolerable-failed-checkpoints": "1"}
    records = start(environment(tmp_path, **tolerant, **settings))
    wait_for(records._job, 5)
    HURRY.set()
    assert sorted(records) == list(range(2000))
    assert len(HEARD) == 3 * PARALLELISM
    for heard in HEARD.values():
        aborted = [id_ for kind, id_ in heard if kind == "aborted"]
        assert aborted[0] == 2
        assert all(id_ > 5 for id_ in aborted[1:]), "the final checkpoint may subsume the one that runs by then"
        completed = [id_ for kind, id_ in heard if kind == "completed"]
        assert not set(aborted) & set(completed)
        assert completed == sorted(set(completed))
        assert {3, 4} <= set(completed)


# --- S26


def test_state_that_cannot_be_written_fails_a_job_that_tolerates_none_once_with_the_cause(tmp_path: Path) -> None:
    FAULTY.add(2)
    restart = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "5",
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    records = start(environment(tmp_path, **restart))
    wait_for(records._job, 5)
    HURRY.set()
    assert sorted(records) == list(range(2000))
    (failure,) = records._job.progress.failures
    assert "checkpoint 2 failed (declined by subtask" in failure.cause
    assert "planned fault: not now" in failure.cause
    assert "1 in a row, 0 tolerated" in failure.cause


def test_without_restarts_the_same_ends_the_job(tmp_path: Path) -> None:
    FAULTY.add(2)
    job = start(environment(tmp_path))._job
    outcome = job.wait(120.0)
    assert outcome.status.word == "failed"
    assert "planned fault: not now" in outcome.cause


# --- S27


@pytest.mark.slow
def test_a_checkpoint_whose_synchronous_part_takes_too_long_is_given_up_and_the_next_one_completes(
    tmp_path: Path,
) -> None:
    SLOW.add(2)
    settings = {
        "execution.checkpointing.timeout": "100 ms",
        "execution.checkpointing.tolerable-failed-checkpoints": "3",
    }
    records = start(environment(tmp_path, **settings))
    wait_for(records._job, 4)
    HURRY.set()
    assert sorted(records) == list(range(2000))
    assert 2 not in [figures.checkpoint_id for figures in records._job.progress.checkpoints]
    counted = Counter(kind for heard in HEARD.values() for kind, id_ in heard if id_ == 2)
    assert counted == {"aborted": 3 * PARALLELISM}


@pytest.mark.slow
def test_a_late_checkpoint_fails_a_job_that_tolerates_none_and_names_who_was_late(tmp_path: Path) -> None:
    SLOW.add(2)
    job = start(environment(tmp_path, **{"execution.checkpointing.timeout": "100 ms"}))._job
    outcome = job.wait(120.0)
    assert outcome.status.word == "failed"
    assert "checkpoint 2 failed (not complete after 100 ms" in outcome.cause
