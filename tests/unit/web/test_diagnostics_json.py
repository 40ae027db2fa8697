"""Records that functions failed for, as the REST interface tells them: counted, sampled, newest first, bounded."""

from __future__ import annotations

import json

from headgate.ids import Attempt, SlotIndex, SubtaskId
from headgate.operators.samples import FailedSample
from headgate.runtime.control.messages import Progress
from headgate.runtime.control.subtask_metrics import Rates, SubtaskMetrics, TimeShares, Traffic
from headgate.runtime.monitoring.progress import FAILED_RECORDS_MAX
from headgate.web.diagnostics_json import failed_records
from headgate.web.question import Question
from tests.unit.web.page_jobs import FAILED, PageJob


def reported(uid: str, *numbers: int) -> SubtaskMetrics:
    samples = tuple(
        FailedSample(uid=uid, error=f"ValueError: {n}", traceback="t" * 4000, record=str(n), key=None, dealt="skipped")
        for n in numbers
    )
    return SubtaskMetrics(
        traffic=Traffic(),
        time=TimeShares(),
        rates=Rates(),
        watermark_in=None,
        watermark_out=None,
        user=((uid, FAILED),),
        failed=samples,
    )


def test_the_newest_samples_of_each_operator_are_kept_over_attempts() -> None:
    job = PageJob()
    uid = job.job.view.plan.vertices[1].operators[0].uid
    for number in range(FAILED_RECORDS_MAX + 10):
        metrics = {SubtaskId(1, number % 2): reported(uid, number)}
        attempt = Attempt(1 + number // 30)
        job.progress.subtasks = {}
        job.progress.reported(
            Progress(attempt=attempt, slot=SlotIndex(0), records_in={}, records_out={}, counters={}, metrics=metrics),
            number,
        )
    found = failed_records(Question(job=job.job, now_ms=0, path={}, query={}))
    (operator,) = found["operators"]
    assert (operator["uid"], operator["failed"]) == (uid, 7)
    assert [sample["record"] for sample in operator["samples"]] == [str(n) for n in range(59, 9, -1)]
    assert operator["samples"][0] | {"traceback": ""} == {
        "at": 59,
        "subtask": 1,
        "attempt": 2,
        "error": "ValueError: 59",
        "traceback": "",
        "record": "59",
        "key": None,
        "dealt": "skipped",
    }
    assert len(json.dumps(found)) < 1_000_000


def test_of_a_job_without_failed_records_nothing_is_told() -> None:
    assert failed_records(Question(job=PageJob().job, now_ms=0, path={}, query={}))["operators"] == []
