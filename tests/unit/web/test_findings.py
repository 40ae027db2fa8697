"""What stands out in a job: each rule finds its trouble, says where it is, and says nothing of a job that is well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headgate.elements import MAX_TIMESTAMP
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.failure import UserFailure
from headgate.runtime.control.subtask_metrics import BarrierWait
from headgate.runtime.monitoring.outcome import Failure, FailureOrigin
from headgate.web.page.findings import LOOP_MS, STILL_MS, findings
from tests.unit.web.page_jobs import PageJob, own


def kinds(job: PageJob) -> list[str]:
    return [finding["kind"] for finding in findings(job.seen())]


def text(job: PageJob) -> str:
    (finding,) = findings(job.seen())
    return str(finding["text"])


def failure(wall_ms: int, **origin: object) -> Failure:
    where = FailureOrigin(**origin)  # type: ignore[arg-type]
    return Failure(
        wall_ms=wall_ms, attempt=Attempt(1), cause="ValueError: bad\n  more", origin=where, restart_delay_ms=1.0
    )


def test_of_a_job_that_is_well_nothing_stands_out() -> None:
    job = PageJob()
    for second in range(30):
        job.reports(own(busy=0.5, records=100, watermark=second), own(busy=0.2, records=50), own(busy=0.2, records=50))
        job.passes(1000)
        job.checkpoint(second + 1)
    assert kinds(job) == []


def test_before_anything_is_reported_nothing_stands_out() -> None:
    assert kinds(PageJob()) == []


def test_an_operator_that_holds_back_what_is_before_it_is_too_slow() -> None:
    job = PageJob()
    job.reports(own(busy=0.1, held=0.8, records=10), own(busy=0.4, records=5), own(busy=0.97, records=5))
    assert "is too slow: subtask 1 is busy 97% of its time" in text(job)
    job.reports(own(busy=0.1, records=10), own(busy=0.97, records=5), own(busy=0.4, records=5))
    assert kinds(job) == []
    job.reports(own(busy=0.1, held=0.8, records=10), own(busy=0.4, records=5), own(busy=0.89, records=5))
    assert kinds(job) == []


def test_an_operator_holds_back_only_what_sends_to_it() -> None:
    job = PageJob()
    job.reports(own(busy=0.95, records=10), own(busy=0.1, held=0.8, records=5), own(records=5))
    assert kinds(job) == []


def test_a_subtask_with_most_of_the_records_is_told_if_it_is_at_work() -> None:
    job = PageJob(parallelism=4)
    quiet = own(busy=0.1, records=10)
    job.reports(own(records=100), quiet, quiet, own(busy=0.8, records=70), quiet)
    assert "is skewed: subtask 2 gets 70% of the records; 25% would be even" in text(job)
    job.reports(own(records=100), quiet, quiet, own(busy=0.2, records=70), quiet)
    assert kinds(job) == []


def test_of_two_subtasks_one_is_told_that_gets_four_fifths_of_the_records() -> None:
    job = PageJob(parallelism=2)
    job.reports(own(records=100), own(busy=0.8, records=79), own(busy=0.8, records=21))
    assert kinds(job) == []
    job.reports(own(records=100), own(busy=0.8, records=80), own(busy=0.8, records=20))
    assert "gets 80% of the records; 50% would be even" in text(job)


def test_subtasks_of_an_attempt_with_more_of_them_are_let_be() -> None:
    job = PageJob(parallelism=2)
    job.reports(own(records=100), own(busy=0.8, records=50), own(busy=0.8, records=50), own(busy=0.8, records=900))
    assert kinds(job) == []


def test_a_watermark_that_stands_while_records_come_is_told_with_who_holds_it() -> None:
    job = PageJob()
    for _ in range(STILL_MS // 1000 + 1):
        job.reports(own(records=10, watermark=500), own(), own())
        job.passes(1000)
    assert kinds(job) == ["stuck-watermark"]
    assert "subtask 0 is the furthest behind" in text(job)
    job.reports(own(records=10, watermark=501), own(), own())
    job.passes(1000)
    assert kinds(job) == []


@pytest.mark.parametrize(
    ("watermarks", "behind"),
    [
        ((-500, None), "subtask 1 has no watermark"),
        ((0, None), "subtask 1 has no watermark"),
        ((500, -500), "subtask 1 is the furthest behind"),
    ],
)
def test_of_all_subtasks_of_a_source_the_one_is_told_that_holds_the_watermark(
    watermarks: tuple[int | None, int | None], behind: str
) -> None:
    job = PageJob()
    job.progress.subtasks = {SubtaskId(0, at): own(records=10, watermark=each) for at, each in enumerate(watermarks)}
    for _ in range(STILL_MS // 1000 + 1):
        job.passes(1000)
    assert behind in text(job)


@pytest.mark.parametrize(("records", "watermark", "found"), [(0, 500, ["idle-source"]), (10, None, [])])
def test_a_watermark_is_no_trouble_without_records_or_without_event_time(
    records: int, watermark: int | None, found: list[str]
) -> None:
    job = PageJob()
    for _ in range(STILL_MS // 1000 + 1):
        job.reports(own(records=records, watermark=watermark), own(), own())
        job.passes(1000)
    assert kinds(job) == found


def test_a_source_of_which_nothing_is_heard_reads_nothing() -> None:
    job = PageJob()
    for _ in range(STILL_MS // 1000 + 1):
        job.passes(1000)
    assert kinds(job) == ["idle-source"]


def test_a_source_that_reads_nothing_is_told_but_not_right_after_a_start() -> None:
    job = PageJob()
    for _ in range(STILL_MS // 1000 + 1):
        job.reports(own(), own(), own())
        job.passes(1000)
    assert "has read nothing for 15 s" in text(job)
    job.progress.running_since_ms = job.now_ms - 1000
    assert kinds(job) == []


def test_a_source_that_has_read_all_there_is_is_no_trouble() -> None:
    job = PageJob()
    job.reports(own(records=10, watermark=MAX_TIMESTAMP), own(), own())
    job.passes(1000)
    for _ in range(STILL_MS // 1000 + 1):
        job.reports(own(watermark=MAX_TIMESTAMP), own(), own())
        job.passes(1000)
        assert kinds(job) == []


def test_a_rule_that_fails_says_so_and_leaves_the_others_alone() -> None:
    job = PageJob()
    job.checkpoint(1, failure="storage is gone")
    job.progress.failures.append(None)  # type: ignore[arg-type]
    assert kinds(job) == ["failing-checkpoints", "broken-rule", "broken-rule"]
    texts = [finding["text"] for finding in findings(job.seen())]
    assert texts[1].startswith("The check for trouble (restart loop) failed: AttributeError")


def test_state_that_is_larger_at_each_checkpoint_is_told() -> None:
    job = PageJob()
    for number, size in enumerate([1, 2, 3, 4, 5, 6], start=1):
        job.checkpoint(number)
        seen = {"now": number, "vertices": [_vertex(0), _vertex(size * 1_000_000)]}
        job.history.add(seen)
    assert "grows: 1.0 MB to 6.0 MB" in text(job)
    job.history.add({"now": 9, "vertices": [_vertex(0), _vertex(100)]})
    assert kinds(job) == []


@pytest.mark.parametrize(
    "sizes",
    [
        [1_000_000, 2_000_000, 3_000_000, 2_500_000, 5_000_000, 6_000_000],  # smaller once
        [10_000_000, 11_000_000, 12_000_000, 13_000_000, 14_000_000],  # not twice as large
        [1_000, 2_000, 3_000, 4_000, 900_000],  # small
        [1_000_000, 2_000_000, 3_000_000, 4_000_000],  # of few checkpoints
    ],
)
def test_state_that_grows_a_little_or_for_a_while_is_no_trouble(sizes: list[int]) -> None:
    job = PageJob()
    for number, size in enumerate(sizes):
        job.history.add({"now": number, "vertices": [_vertex(0), _vertex(size)]})
    assert kinds(job) == []


def _vertex(state_bytes: int) -> dict[str, object]:
    names = ("in", "out", "busy", "backPressured", "watermark", "watermarkLag")
    return dict.fromkeys(names) | {"stateBytes": state_bytes}


def test_checkpoints_that_failed_since_the_last_good_one_are_told() -> None:
    job = PageJob()
    job.checkpoint(1)
    job.checkpoint(2, failure="storage is gone")
    job.checkpoint(3, failure="storage is gone")
    (finding,) = findings(job.seen())
    assert finding["text"] == "The newest 2 checkpoints failed: storage is gone"
    assert finding["page"] == "checkpoints/3"
    job.checkpoint(4)
    assert kinds(job) == []


def test_a_slow_checkpoint_is_told_with_what_took_most_of_its_time() -> None:
    job = PageJob()
    job.checkpoint(1, async_ms=4_000.0, upload_ms=4_000.0, start_delay_ms=200.0)
    assert "Checkpoint 1 took 4.2 s. Upload of" in text(job)
    job.checkpoint(2, start_delay_ms=3_000.0)
    assert "took 3.0 s. The barrier took 3.0 s to reach" in text(job)


def test_a_barrier_that_waits_long_behind_records_is_told() -> None:
    job = PageJob()
    job.triggers(1)
    wait = BarrierWait(checkpoint_id=CheckpointId(1), waiting=900, per_second=45.0)
    job.reports(own(), replace(own(), barrier=wait), own())
    (finding,) = findings(job.seen())
    name = job.job.view.plan.vertices[1].name
    assert finding["text"] == f"Checkpoint 1: the barrier waits behind {name!r}, subtask 0: 900 records, about 20 s"
    assert finding["page"] == "checkpoints/1"
    job.reports(own(), replace(own(), barrier=replace(wait, per_second=1000.0)), own())
    assert kinds(job) == []
    job.now_ms += 1_500
    assert kinds(job) == ["waiting-barrier"]


def test_failures_that_come_again_and_again_are_a_loop_and_old_ones_are_none() -> None:
    job = PageJob()
    job.now_ms = LOOP_MS * 2
    job.progress.failures.extend(failure(at, operator="map", subtask=0, slot=0) for at in (1, 2, job.now_ms))
    assert kinds(job) == []
    job.progress.failures.extend(failure(job.now_ms, operator="map", subtask=0, slot=0) for _ in range(2))
    assert text(job) == "The job has failed 3 times in 1 min, last: ValueError: bad"


def test_a_record_that_each_failure_has_in_common_is_told() -> None:
    job = PageJob()
    user = UserFailure("parse", 0, "ValueError: bad", "", record="{'order': 7}")
    job.progress.failures.extend(failure(0, operator="parse", subtask=0, slot=0, user=user) for _ in range(3))
    assert kinds(job) == ["restart-loop", "poison-record"]
    assert "'parse' fails for the same record: {'order': 7}" in str(findings(job.seen())[1]["text"])
    other = UserFailure("parse", 0, "ValueError: bad", "", record="{'order': 8}")
    job.progress.failures.append(failure(0, operator="parse", subtask=0, slot=0, user=other))
    assert kinds(job) == ["restart-loop"]


def test_a_failure_between_records_is_none_of_the_same_record() -> None:
    job = PageJob()
    for record in ("{'order': 7}", None, "{'order': 7}"):
        user = UserFailure("parse", 0, "ValueError: bad", "", record=record)
        job.progress.failures.append(failure(0, operator="parse", subtask=0, slot=0, user=user))
    assert kinds(job) == ["restart-loop"]


def test_a_slot_that_was_lost_is_told_while_it_is_the_newest_failure() -> None:
    job = PageJob()
    job.progress.failures.append(failure(0, slot=1))
    assert kinds(job) == ["lost-slot"]
    job.progress.failures.append(failure(0, operator="map", subtask=0, slot=1))
    assert kinds(job) == []


def test_failed_records_are_counted() -> None:
    job = PageJob()
    job.reports(own(), own(failed=True), own(failed=True))
    assert text(job).startswith("14 records failed in")
