"""Statistics of checkpoints, and their JSON."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from headgate.checkpoint.handles import InFlightState, OperatorState, SubtaskState
from headgate.checkpoint.messages import SubtaskAcked
from headgate.elements import Barrier, SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.runtime.monitoring import statistics_json
from headgate.runtime.monitoring.checkpoint_record import CheckpointStatus
from headgate.runtime.monitoring.statistics import WINDOW, CheckpointStatistics, Restore, Summary
from headgate.state.files import FileHandle, InlineHandle, KeyedState, StateFile
from tests.unit.meanwhile import at_each_collection

A1 = Attempt(1)
NAMES = {0: "source", 1: "count"}


class Job:
    """Statistics of a job of two vertices, one and two subtasks, with shorter ways to tell them what happens."""

    def __init__(self, history_max: int = 10, parallelism: int = 2) -> None:
        self.statistics = CheckpointStatistics(history_max)
        self.parallelism = (1, parallelism)

    def trigger(
        self, number: int, savepoint: SavepointOrder | None = None, unaligned_after_ms: int | None = None
    ) -> None:
        barrier = Barrier(CheckpointId(number), 1000 * number, unaligned_after_ms, savepoint)
        self.statistics.triggered(barrier, A1, self.parallelism, 5.0)

    def ack(self, number: int, vertex: int, index: int, state: SubtaskState, attempt: Attempt = A1) -> None:
        ack = SubtaskAcked(
            attempt=attempt, checkpoint_id=CheckpointId(number), subtask=SubtaskId(vertex, index), state=state
        )
        self.statistics.acked(ack, 1000 * number + 10 * (vertex + index + 1))

    def complete(self, number: int) -> None:
        self.statistics.completed(CheckpointId(number), f"/jobs/x/chk-{number}", 105.0)

    def fail(self, number: int, reason: str = "too slow") -> None:
        self.statistics.failed(CheckpointId(number), reason, 77)

    def run(self, number: int, **figures: Any) -> None:
        self.trigger(number)
        for vertex, index in ((0, 0), (1, 0), (1, 1)):
            self.ack(number, vertex, index, state(**figures))
        self.complete(number)

    def overview(self) -> dict[str, Any]:
        return statistics_json.overview(self.statistics)


def state(inline_bytes: int = 0, files: tuple[FileHandle, ...] = (), **figures: Any) -> SubtaskState:
    base = (StateFile("base", InlineHandle(bytes(inline_bytes))), *(StateFile(file.path, file) for file in files))
    keyed = KeyedState(key_groups=(0, 127), kind="entries", base=base)
    return SubtaskState(operators=(OperatorState(uid="a", keyed=keyed),), **figures)


def test_counts_follow_checkpoints_from_trigger_to_end() -> None:
    job = Job()
    job.run(1)
    job.trigger(2)
    job.fail(2)
    job.trigger(3)
    counts = {"restored": 0, "total": 3, "in_progress": 1, "completed": 1, "failed": 1}
    assert job.overview()["counts"] == counts
    assert [each["status"] for each in job.overview()["history"]] == ["IN_PROGRESS", "FAILED", "COMPLETED"]


def test_the_duration_ends_with_the_last_acknowledgement_and_the_figure_with_the_manifest() -> None:
    job = Job()
    job.run(4, inline_bytes=100, sync_ms=3.0)
    (shown,) = job.overview()["history"]
    assert shown["trigger_timestamp"] == 4000
    assert shown["latest_ack_timestamp"] == 4030
    assert shown["end_to_end_duration"] == 30
    assert (shown["state_size"], shown["num_acknowledged_subtasks"], shown["num_subtasks"]) == (300, 3, 3)
    assert shown["external_path"] == "/jobs/x/chk-4"
    (figures,) = job.statistics.figures
    assert (figures.checkpoint_id, figures.duration_ms, figures.size_bytes, figures.sync_ms_max) == (4, 100.0, 300, 3.0)


def test_files_of_the_checkpoint_before_count_as_state_but_not_as_written() -> None:
    job = Job()
    old, new = FileHandle("shared/1-a", 1000, 0), FileHandle("shared/2-b", 10, 0)
    job.trigger(1)
    job.ack(1, 0, 0, state(5, (old,)))
    job.complete(1)
    job.trigger(2)
    job.ack(2, 0, 0, state(5, (old, new)))
    shown = job.overview()["history"][0]
    assert (shown["state_size"], shown["checkpointed_size"]) == (1015, 15)


def test_files_that_an_attempt_started_from_count_as_written_before() -> None:
    job = Job()
    restore = Restore(checkpoint_id=CheckpointId(1), wall_ms=50, is_savepoint=False, location="/jobs/x/chk-1")
    job.statistics.restored(restore, ["shared/1-a"])
    job.trigger(2)
    job.ack(2, 0, 0, state(5, (FileHandle("shared/1-a", 1000, 0),)))
    assert job.overview()["history"][0]["checkpointed_size"] == 5
    assert job.overview()["counts"]["restored"] == 1
    assert job.overview()["latest"]["restored"] == {
        "id": 1,
        "restore_timestamp": 50,
        "is_savepoint": False,
        "external_path": "/jobs/x/chk-1",
    }


def test_repeated_and_strange_acknowledgements_change_nothing() -> None:
    job = Job()
    job.trigger(1)
    job.ack(1, 0, 0, state(1))
    job.ack(1, 0, 0, state(100))
    job.ack(1, 1, 0, state(100), Attempt(2))
    job.ack(9, 0, 0, state(100))
    assert job.overview()["history"][0]["state_size"] == 1
    job.fail(1)
    job.ack(1, 1, 0, state(100))
    job.fail(1, "again")
    job.complete(1)
    assert job.overview()["counts"]["failed"] == 1
    assert job.overview()["latest"]["failed"]["failure_message"] == "too slow"
    assert job.overview()["latest"]["failed"]["failure_timestamp"] == 77
    assert job.overview()["latest"]["completed"] is None


def test_the_history_is_bounded_and_the_newest_of_each_kind_outlive_it() -> None:
    job = Job(history_max=2)
    job.trigger(1)
    job.fail(1)
    job.trigger(2, SavepointOrder("/savepoints/a"))
    job.complete(2)
    for number in (3, 4, 5):
        job.run(number)
    shown = job.overview()
    assert [each["id"] for each in shown["history"]] == [5, 4]
    assert shown["latest"]["failed"]["id"] == 1
    assert (shown["latest"]["savepoint"]["id"], shown["latest"]["savepoint"]["external_path"]) == (2, "/savepoints/a")
    assert shown["latest"]["completed"]["id"] == 5
    assert statistics_json.details(job.statistics, 1, NAMES) is not None
    assert statistics_json.details(job.statistics, 3, NAMES) is None


def test_the_summary_is_of_completed_ones_only() -> None:
    job = Job()
    assert job.overview()["summary"]["state_size"]["min"] is None
    for number, size in enumerate((10, 20, 60), 1):
        job.run(number, inline_bytes=size, processed_bytes=size)
    job.trigger(4)
    job.ack(4, 0, 0, state(10_000))
    job.fail(4)
    summary = job.overview()["summary"]
    assert summary["state_size"] == {
        "min": 30,
        "max": 180,
        "avg": 90,
        "p50": 60,
        "p90": 180,
        "p95": 180,
        "p99": 180,
        "p999": 180,
    }
    assert summary["processed_data"]["max"] == 180
    assert summary["end_to_end_duration"]["p50"] == 30


def test_a_checkpoint_that_began_aligned_is_unaligned_once_its_barrier_has_overtaken_something() -> None:
    job = Job()
    job.trigger(1, unaligned_after_ms=500)
    job.ack(1, 0, 0, state(7))
    assert statistics_json.details(job.statistics, 1, NAMES)["checkpoint_type"] == "CHECKPOINT"  # type: ignore[index]
    job.ack(1, 1, 1, state(3, unaligned=True))
    details = statistics_json.details(job.statistics, 1, NAMES)
    assert details is not None
    assert details["checkpoint_type"] == "UNALIGNED_CHECKPOINT"


def test_a_vertex_shows_the_figures_of_its_own_subtasks() -> None:
    job = Job()
    job.trigger(1, unaligned_after_ms=0)
    job.ack(1, 0, 0, state(7))
    took = SubtaskState(
        operators=state(3).operators,
        sync_ms=1.6,
        async_ms=20.2,
        upload_ms=12.4,
        alignment_ms=4.0,
        start_delay_ms=2.0,
        unaligned=True,
    )
    job.ack(1, 1, 1, took)
    details = statistics_json.details(job.statistics, 1, NAMES)
    assert details is not None
    assert details["checkpoint_type"] == "UNALIGNED_CHECKPOINT"
    assert {name: task["status"] for name, task in details["tasks"].items()} == {
        "source": "COMPLETED",
        "count": "IN_PROGRESS",
    }
    shown = statistics_json.subtasks(job.statistics, 1, 1)
    assert shown is not None
    assert shown["subtasks"] == [
        {"index": 0, "status": "pending_or_failed"},
        {
            "index": 1,
            "status": "completed",
            "ack_timestamp": 1030,
            "end_to_end_duration": 30,
            "checkpointed_size": 3,
            "state_size": 3,
            "checkpoint": {"sync": 2, "async": 20, "upload": 12},
            "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 4},
            "start_delay": 2,
            "unaligned_checkpoint": True,
            "aborted": False,
        },
    ]
    assert shown["summary"]["checkpoint_duration"]["async"]["max"] == 20
    assert shown["summary"]["start_delay"]["p99"] == 2


def test_data_in_flight_counts_as_state_that_was_written() -> None:
    part = InFlightState(
        uid="a", input_index=0, source_uid="s", source=0, target=0, sequence=0, handle=InlineHandle(bytes(50))
    )
    own = SubtaskState(operators=(), in_flight=(part,), persisted_bytes=50, processed_bytes=20)
    job = Job()
    job.trigger(1)
    job.ack(1, 0, 0, own)
    shown = job.overview()["history"][0]
    assert (shown["state_size"], shown["checkpointed_size"]) == (50, 50)
    assert (shown["persisted_data"], shown["processed_data"]) == (50, 20)


def test_savepoints_are_told_from_those_that_stop_the_job() -> None:
    job = Job()
    job.trigger(1, SavepointOrder("/a"))
    job.trigger(2, SavepointOrder("/b", stops=True))
    job.trigger(3)
    assert [each["checkpoint_type"] for each in job.overview()["history"]] == [
        "CHECKPOINT",
        "SYNC_SAVEPOINT",
        "SAVEPOINT",
    ]


def test_a_subtask_that_never_answered_a_failed_checkpoint_is_shown_as_failed() -> None:
    job = Job()
    job.trigger(1)
    job.ack(1, 1, 0, state())
    job.fail(1)
    shown = statistics_json.subtasks(job.statistics, 1, 1)
    assert shown is not None
    assert shown["subtasks"][0]["aborted"]
    assert shown["subtasks"][1] == {"index": 1, "status": "failed"}
    record = job.statistics.find(1)
    assert record is not None
    assert record.status is CheckpointStatus.FAILED


def test_a_checkpoint_is_shown_with_the_parallelism_of_its_own_attempt() -> None:
    job = Job(parallelism=2)
    job.trigger(1)
    job.parallelism = (1, 3)
    job.trigger(2)
    tasks = [statistics_json.details(job.statistics, number, NAMES) for number in (1, 2)]
    assert [shown and shown["num_subtasks"] for shown in tasks] == [3, 4]
    assert [shown and shown["tasks"]["count"]["num_subtasks"] for shown in tasks] == [2, 3]
    subtasks = [statistics_json.subtasks(job.statistics, number, 1) for number in (1, 2)]
    assert [shown and len(shown["subtasks"]) for shown in subtasks] == [2, 3]


def test_figures_are_read_while_the_job_master_notes_more() -> None:
    job = Job(parallelism=10_000)
    job.trigger(1)
    indexes = itertools.count()
    for index in itertools.islice(indexes, 50):
        job.ack(1, 1, index, state())
    with at_each_collection(lambda: job.ack(1, 1, next(indexes), state())):
        shown = statistics_json.subtasks(job.statistics, 1, 1)
        record = job.statistics.find(CheckpointId(1))
        assert record is not None
        figures = record.acked(1)
    assert shown is not None
    assert len(figures) >= 50


# --- summaries


def test_a_summary_of_nothing_has_no_values() -> None:
    summary = Summary()
    assert (summary.least, summary.most, summary.average, summary.quantile(0.5)) == (None, None, None, None)


def test_a_single_value_is_every_percentile() -> None:
    summary = Summary([7.0])
    assert {summary.quantile(part) for part in (0.0, 0.5, 0.999, 1.0)} == {7.0}


def test_percentiles_lie_between_the_values() -> None:
    summary = Summary(float(value) for value in (30, 10, 40, 20))
    assert (summary.least, summary.most, summary.average) == (10.0, 40.0, 25.0)
    assert summary.quantile(0.5) == 25.0
    assert summary.quantile(0.9) == 40.0
    assert summary.quantile(0.3) == pytest.approx(15.0)


def test_percentiles_forget_old_values_and_the_others_do_not() -> None:
    summary = Summary([1e9])
    for _ in range(WINDOW):
        summary.add(1.0)
    assert summary.quantile(0.999) == 1.0
    assert summary.most == 1e9
