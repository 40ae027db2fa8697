"""The lineage that sinks write under: kept by those who go on from the job's own checkpoints, and by nobody else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.job_records import last_attempt, read_lineage
from headgate.functions.sink import SinkIdentity
from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt, Lineage
from headgate.job_status import JobStatus
from headgate.operators.sink import SinkFactory
from tests.unit.runtime.job_storage.drivers import (
    PLAN,
    Committing,
    Driver,
    Rig,
    complete,
    elsewhere,
    listed,
    outcome,
    plan_with,
    snapshot,
)
from tests.unit.runtime.plans import line_plan

ONE, TWO, THREE = (Lineage(digit * 32, int(digit)) for digit in "123")


def under(lineage: Lineage, plan: JobGraph = PLAN) -> JobGraph:
    """A submission of the plan, for which this lineage was drawn."""
    return replace(plan, lineage=lineage)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def begun(rig: Rig, lineage: Lineage, plan: JobGraph = PLAN) -> Driver:
    """A driver that has begun its first attempt."""
    driver = rig.driver(under(lineage, plan))
    driver.resolve(under(lineage, plan), Attempt(last_attempt(rig.store) + 1), None)
    return driver


def test_a_folder_has_its_lineage_before_any_sink_is_prepared(rig: Rig) -> None:
    class Looking(Committing):
        seen: list[Any] = []  # noqa: RUF012

        def prepare(self, identity: SinkIdentity) -> None:
            self.seen.append((identity.lineage, read_lineage(rig.store)))

    rig.driver(under(ONE, line_plan([1], SinkFactory(Looking()))))
    assert Looking.seen == [(ONE, ONE)]


def test_a_driver_that_goes_on_from_a_checkpoint_keeps_the_lineage(rig: Rig) -> None:
    first = begun(rig, ONE)
    complete(first, 1)
    assert begun(rig, TWO).storage.lineage == ONE
    assert begun(rig, THREE).storage.lineage == ONE


def test_each_driver_of_a_lineage_has_digits_of_its_own(rig: Rig) -> None:
    first = begun(rig, ONE)
    complete(first, 1)
    drivers = [first, begun(rig, TWO), begun(rig, THREE)]
    digits = [driver.storage.lineage.driver for driver in drivers]
    assert digits == [driver.storage.owner.partition("-")[2][:8] for driver in drivers]
    assert len(set(digits)) == 3


def test_a_driver_that_begins_from_nothing_or_from_a_snapshot_elsewhere_begins_a_lineage(
    rig: Rig, tmp_path: Path
) -> None:
    begun(rig, ONE)
    second = begun(rig, TWO)
    assert second.storage.lineage == TWO
    plan = plan_with(execution__state_recovery__path=elsewhere(tmp_path, snapshot(5, listed("a"))))
    third = begun(rig, THREE, plan)
    assert third.storage.lineage == THREE
    third.storage.tidy()
    assert len(rig.store.list_files(paths.LINEAGES)) == 1


def test_a_checkpoint_of_a_release_without_lineages_is_gone_on_from_under_a_new_one(rig: Rig) -> None:
    complete(begun(rig, ONE), 1)
    rig.store.delete(rig.store.list_files(paths.LINEAGES))
    assert begun(rig, TWO).storage.lineage == TWO
    assert begun(rig, THREE).storage.lineage == TWO


class EndPlan(Committing):
    """Notes what is asked of it about other lineages."""

    asked: list[Any] = []  # noqa: RUF012

    def end_others(self, identity: SinkIdentity, held: list[Any]) -> Any:
        self.asked.append((str(identity.lineage)[0], held))
        return lambda: self.asked.append("ended")


def test_other_lineages_are_ended_once_when_all_subtasks_have_restored(rig: Rig) -> None:
    EndPlan.asked.clear()
    plan = line_plan([1], SinkFactory(EndPlan()))
    driver = begun(rig, ONE, plan)
    assert EndPlan.asked == []
    driver.storage.tidy()
    driver.storage.tidy()
    assert EndPlan.asked == [("1", []), "ended"]


def test_a_driver_that_was_taken_over_ends_no_other_lineage(rig: Rig) -> None:
    EndPlan.asked.clear()
    plan = line_plan([1], SinkFactory(EndPlan()))
    driver = begun(rig, ONE, plan)
    rig.driver(under(TWO, plan))
    driver.storage.tidy()
    assert "ended" not in EndPlan.asked


def test_what_a_job_that_has_ended_left_is_discarded_under_its_lineage(rig: Rig) -> None:
    discarded: list[SinkIdentity] = []

    class Noting(Committing):
        def discard(self, identity: SinkIdentity) -> None:
            discarded.append(identity)
            if len(discarded) == 1:
                raise RuntimeError("the driver dies")

    plan = line_plan([1], SinkFactory(Noting()))
    driver = begun(rig, ONE, plan)
    complete(driver, 1)
    driver.storage.tidy()
    with pytest.raises(RuntimeError):
        driver.finish(under(ONE, plan), outcome(JobStatus.FINISHED))
    later = rig.driver(under(TWO, plan))
    later.finish(under(TWO, plan), outcome(JobStatus.FINISHED))
    assert [str(each.lineage)[0] for each in discarded] == ["1", "1"]
