"""Taps of a job: slots are told while somebody looks, those of new attempts too, and what they send is shown."""

from __future__ import annotations

import pytest

from headgate.graph.logical import Partitioning
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory
from headgate.operators.samples import Sample
from headgate.runtime.control.messages import Tap
from headgate.runtime.master import taps
from tests.unit.runtime.master.test_job_master import FAIL_AT, Failing, Ticking, counting_rig, expected
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import Step, line_plan

UID = "op2"


def told(rig: MasterRig) -> list[Tap]:
    return [message for link in rig.links.values() for message in link.told if isinstance(message, Tap)]


@pytest.mark.slow
def test_samples_are_shown_until_nobody_looks() -> None:
    rig = counting_rig(limit=500)
    seen: list[Sample] = []
    rig.master.submit()
    rig.run_until(lambda: rig.master.status is JobStatus.RUNNING)
    rig.master.tap(UID, seen.extend)
    rig.run_until(lambda: len(seen) > 20)
    assert {sample.subtask for sample in seen} == {0, 1}
    assert all(sample.value.startswith("(") for sample in seen)
    rig.master.untap(UID, seen.extend)
    assert told(rig)[-1].for_ms == 0.0
    count, sent = len(seen), len(told(rig))
    assert rig.end().status is JobStatus.FINISHED
    assert (len(seen), len(told(rig))) == (count, sent)
    assert sorted(rig.collected()) == expected(500)


def test_slots_are_told_again_before_their_taps_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taps, "FOR_MS", 600.0)
    monkeypatch.setattr(taps, "RENEW_MS", 200.0)
    rig = counting_rig(limit=2000)
    seen: list[Sample] = []
    rig.master.tap(UID, seen.extend)
    rig.master.submit()
    rig.run_until(lambda: rig.clock.monotonic_ms() > 3 * taps.FOR_MS, turns=50_000)
    late = rig.clock.wall_ms()
    rig.run_until(lambda: seen[-1].wall_ms > late)
    assert len(told(rig)) < 2 * 4 * 3 * taps.FOR_MS / taps.RENEW_MS


@pytest.mark.slow
def test_a_new_attempt_is_looked_at_from_its_start() -> None:
    rig = counting_rig(limit=300)
    seen: list[Sample] = []
    FAIL_AT.add(100)
    rig.master.tap(UID, seen.extend)
    rig.master.submit()
    rig.run_until(lambda: rig.master.progress.attempt == 2)
    before = len(seen)
    rig.run_until(lambda: len(seen) > before + 10)
    assert {message.attempt for message in told(rig)} == {1, 2}
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(rig.collected()) == expected(300)


def test_two_who_look_at_one_operator_see_the_same_and_one_may_leave() -> None:
    rig = counting_rig(limit=500)
    one: list[Sample] = []
    other: list[Sample] = []
    rig.master.tap(UID, one.extend)
    rig.master.tap(UID, other.extend)
    rig.master.submit()
    rig.run_until(lambda: len(one) > 10)
    assert one == other
    rig.master.untap(UID, one.extend)
    count = len(one)
    rig.run_until(lambda: len(other) > count + 10)
    assert len(one) == count


def test_wide_operators_send_less_of_each_subtask() -> None:
    steps = (MapFactory(Failing()), Step(CollectFactory(), Partitioning.REBALANCE, parallelism=20))
    rig = MasterRig(line_plan(Ticking(50), *steps))
    rig.master.tap("op1", print)
    rig.master.tap("op2", print)
    rig.master.submit()
    rig.run_until(lambda: rig.master.status is JobStatus.RUNNING)
    rates = {message.uid: message.records_per_s for message in told(rig)}
    assert rates == {"op1": taps.RECORDS_PER_S_MAX, "op2": taps.ALL_RECORDS_PER_S_MAX / 20}


def test_without_a_tap_the_master_has_nothing_to_wake_for() -> None:
    rig = counting_rig()
    rig.master.submit()
    rig.run_until(lambda: rig.master.status is JobStatus.RUNNING)
    assert rig.master._taps.wake_ms is None
    see = print
    rig.master.tap(UID, see)
    assert rig.master._taps.wake_ms is not None
    rig.master.untap(UID, see)
    assert rig.master._taps.wake_ms is None
    assert told(rig)[-1].for_ms == 0.0
