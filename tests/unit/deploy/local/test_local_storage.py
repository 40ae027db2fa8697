"""MiniCluster end to end: where state is kept, and what a restart reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.common.job_execution_result import JobExecutionResult
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.checkpoint_storage import JobManagerCheckpointStorage
from headgate.errors import JobFailedError
from headgate.functions.api import KeyedProcessFunction, MapFunction, SinkFunction
from headgate.functions.checkpointed import CheckpointListener
from headgate.functions.context import Context, RuntimeContext
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.slot_storage.local_copies import LocalCopies
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.unit.datastream.environments import environment

RECORDS, KEYS = 1200, 8
MIDDLE = RECORDS * 3 // 4  # of what the second of two source subtasks reads
SEEN: Counter[tuple[int, int]] = Counter()
FAILED: list[int] = []


@pytest.fixture(autouse=True)
def _clear() -> None:
    SEEN.clear()
    FAILED.clear()


class Count(KeyedProcessFunction, CheckpointListener):
    """Counts each key, and fails once, in the middle, after a checkpoint; `padding` makes its state large."""

    def __init__(self, padding: int) -> None:
        self.padding = b"x" * padding

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))
        self.has_checkpoint = False

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.has_checkpoint = True

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count, _ = self.count.value() or (0, b"")
        self.count.update((count + 1, self.padding))
        if value >= MIDDLE and self.has_checkpoint and not FAILED:
            FAILED.append(value)
            raise ValueError("planned")
        yield ctx.get_current_key(), count + 1


class Note(SinkFunction):
    def invoke(self, value: Any, context: Context) -> None:
        SEEN[value] += 1


def run(env: StreamExecutionEnvironment, padding: int = 0) -> JobExecutionResult:
    """Count the records of each key, with a failure and a restart in the middle."""
    source = RateLimitedSource(NumberSequenceSource(0, RECORDS - 1), 1600)
    counts = env.from_source(source, None, "numbers").key_by(lambda value: value % KEYS).process(Count(padding))
    counts.add_sink(Note())
    return env.execute()


def restarting(**settings: str) -> StreamExecutionEnvironment:
    return environment(
        **{
            "execution__checkpointing__interval": "20 ms",
            "execution__checkpointing__data-inline-threshold": "0 b",
            "restart-strategy": "fixed-delay",
            "restart-strategy__fixed-delay__delay": "0 ms",
        },
        **settings,
    ).set_parallelism(2)


def check_counts() -> None:
    assert len(FAILED) == 1
    assert {key: max(count for of, count in SEEN if of == key) for key in range(KEYS)} == dict.fromkeys(
        range(KEYS), RECORDS // KEYS
    )


LOCAL = {"execution__checkpointing__local-backup__enabled": "true"}


@pytest.mark.slow
def test_a_job_starts_again_from_the_memory_of_the_driver() -> None:
    env = restarting()
    env.get_checkpoint_config().set_checkpoint_storage(JobManagerCheckpointStorage())
    run(env)
    check_counts()


@pytest.mark.slow
def test_with_a_folder_too_the_drivers_memory_holds_manifests_that_need_no_other_file(tmp_path: Path) -> None:
    env = restarting(**{"execution__checkpointing__externalized-checkpoint-retention": "DELETE_ON_CANCELLATION"})
    env.get_checkpoint_config().set_checkpoint_storage(JobManagerCheckpointStorage(f"file:{tmp_path}"))
    FAILED.append(MIDDLE)
    source = RateLimitedSource(NumberSequenceSource(0, RECORDS - 1), 1600)
    failing = env.from_source(source, None, "numbers").key_by(lambda value: value % KEYS).process(Count(0))
    failing.map(FailingAtTheEnd()).add_sink(Note())
    with pytest.raises(JobFailedError, match="the end"):
        env.execute()
    (job,) = tmp_path.iterdir()
    (checkpoint,) = job.glob("chk-*")
    assert [path.name for path in checkpoint.iterdir() if not path.name.endswith("-claim")] == ["_metadata"]
    assert not (job / "shared").exists()


class FailingAtTheEnd(MapFunction):
    def map(self, value: Any) -> Any:
        if value[1] == RECORDS // KEYS:
            raise ValueError("the end")
        return value


def test_state_too_large_for_the_drivers_memory_fails_its_checkpoint_with_what_to_set() -> None:
    env = restarting()
    env.get_checkpoint_config().set_checkpoint_storage(JobManagerCheckpointStorage(max_state_size=2000))
    FAILED.append(0)
    with pytest.raises(JobFailedError, match=r"headgate\.checkpoint\.max-state-size"):
        run(env, padding=3000)


@pytest.mark.slow
def test_after_a_failure_that_the_slots_survive_state_is_read_from_their_own_disks(tmp_path: Path) -> None:
    result = run(restarting(**LOCAL, io__tmp__dirs=str(tmp_path)))
    check_counts()
    counters = result.get_all_accumulator_results()
    assert counters["local_restored_files"] >= 2
    assert counters["remote_restored_files"] == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_local_copies_state_is_read_from_storage() -> None:
    for settings in ({}, {**LOCAL, "execution__state-recovery__from-local": "false"}):
        FAILED.clear()
        counters = run(restarting(**settings)).get_all_accumulator_results()
        assert counters["remote_restored_files"] >= 2
        assert counters["local_restored_files"] == 0


@pytest.mark.slow
def test_local_copies_that_are_gone_are_made_up_for_from_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = LocalCopies.begin

    def lose(self: LocalCopies, attempt: Attempt, checkpoint_id: CheckpointId | None, files: Iterable[str]) -> None:
        begin(self, attempt, checkpoint_id, files)
        for path in self._folder.iterdir():
            path.unlink()

    monkeypatch.setattr(LocalCopies, "begin", lose)
    counters = run(restarting(**LOCAL)).get_all_accumulator_results()
    check_counts()
    assert counters["remote_restored_files"] >= 2
    assert counters["local_restored_files"] == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"execution.checkpointing.interval": "1 h"}, 1),
        ({"execution.checkpointing.interval": "1 h", "headgate.storage.dir": "here"}, 0),
        ({"execution.checkpointing.interval": "1 h", "execution.checkpointing.storage": "jobmanager"}, 0),
        ({}, 0),
    ],
)
def test_checkpoints_that_end_with_the_driver_are_told_of_in_a_line_at_the_start(
    settings: dict[str, str],
    said: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    env = environment(**settings)
    env.from_collection([1]).map(str).print()
    env.execute("counting")
    lines = [record.getMessage() for record in caplog.records if "temporary folder" in record.getMessage()]
    assert len(lines) == said
    for line in lines:
        assert "\n" not in line
        assert "set execution.checkpointing.dir to keep them" in line
        assert "headgate-" in line, "where they are"
