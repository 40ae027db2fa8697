"""Records that an operator leaves out are counted in a metric of the operator, which all ways to metrics show."""

from __future__ import annotations

from headgate.functions.record_errors import RecordErrors
from headgate.ids import SubtaskId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.monitoring.exposition import exposition
from headgate.runtime.monitoring.metrics import OPERATOR_METRICS, JobMetrics
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import line_plan


def third(number: int) -> int:
    if number % 3 == 0:
        raise ValueError("one of three")
    return number


def test_failed_records_are_counted_for_each_operator() -> None:
    guarded = MapFactory(third, errors=RecordErrors.skip())
    settings = {"python.metric.enabled": "false"}  # those of functions: this one is the operator's
    rig = MasterRig(line_plan(range(100), guarded, MapFactory(str), CollectFactory(), settings=settings))
    outcome = rig.run()
    assert outcome.status is JobStatus.FINISHED
    metrics = JobMetrics(rig.plan, rig.master.progress)
    (vertex,) = rig.plan.vertices
    counted = [operator.name for operator, _ in metrics.of_functions(SubtaskId(0, 0))]
    assert counted == [vertex.operators[1].name]
    assert metrics.of_subtask(SubtaskId(0, 0))[f"{counted[0]}.numRecordsFailed"] == 34
    text = exposition([metrics], 0).decode()
    assert f"# HELP headgate_operator_numRecordsFailed {OPERATOR_METRICS[0].meaning} (records)" in text
    assert "headgate_operator_numRecordsFailed{" in text
