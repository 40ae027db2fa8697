"""Taps of a slot: samples are sent while the master says so, and not for long after it has said so last."""

from __future__ import annotations

from headgate.operators.plain_functions import MapFactory
from headgate.runtime.control.messages import LiveOutput, Tap, TaskFailed, TearDown
from headgate.runtime.slot.taps import SEND_EVERY_MS
from tests.unit.runtime.plans import SlotRig
from tests.unit.runtime.slots import A1, A2, Pausing, collecting

UID = "op1"


def tap(uid: str = UID, for_ms: float = 1000.0, attempt: int = 1) -> Tap:
    return Tap(attempt=A1 if attempt == 1 else A2, uid=uid, records_per_s=20.0, for_ms=for_ms)


def running() -> SlotRig:
    rig = collecting(MapFactory(lambda value: f"at {value:g}"), records=Pausing())
    rig.run()
    return rig


def passes(rig: SlotRig, ms: float) -> None:
    """Let time pass, and the slot work."""
    for _ in range(int(ms // 10)):
        rig.clock.advance(10)
        rig.settle()


def samples(rig: SlotRig) -> list[str]:
    return [sample.value for message in rig.all_sent(LiveOutput) for sample in message.samples]


def test_nothing_is_sent_that_was_not_asked_for() -> None:
    rig = running()
    passes(rig, 2000)
    assert rig.all_sent(LiveOutput) == []
    assert rig.slot._taps is None


def test_samples_are_sent_a_few_times_a_second() -> None:
    rig = running()
    rig.tell(tap())
    passes(rig, 1000)
    found = rig.all_sent(LiveOutput)
    assert 2 <= len(found) <= 1000 / SEND_EVERY_MS + 1
    assert {message.uid for message in found} == {UID}
    assert len(samples(rig)) > 10
    assert all(value.startswith("'at ") for value in samples(rig))


def test_a_tap_ends_by_itself_and_the_chain_is_as_before() -> None:
    rig = running()
    subtask = next(iter(rig.slot._execution.subtasks.values()))  # type: ignore[union-attr]
    before = list(subtask._chain._types)
    rig.tell(tap(for_ms=500.0))
    assert subtask._chain._types != before
    passes(rig, 1000)
    assert subtask._chain._types == before
    sent = len(samples(rig))
    passes(rig, 1000)
    assert len(samples(rig)) == sent
    assert rig.slot._later == []


def test_it_goes_on_while_it_is_told_so_and_ends_when_it_is_told_so() -> None:
    rig = running()
    for _ in range(4):
        rig.tell(tap(for_ms=500.0))
        passes(rig, 400)
    assert len(samples(rig)) > 20
    rig.tell(tap(for_ms=0.0))
    sent = len(samples(rig))
    passes(rig, 1000)
    assert len(samples(rig)) == sent


def test_several_operators_are_looked_at_apart() -> None:
    rig = running()
    rig.tell(tap("op0"), tap("op1"))
    passes(rig, 500)
    assert {message.uid for message in rig.all_sent(LiveOutput)} == {"op0", "op1"}


def test_taps_of_other_attempts_and_of_operators_that_are_not_here_are_nothing() -> None:
    rig = running()
    rig.tell(tap(attempt=2), tap("elsewhere"), tap(for_ms=0.0))
    passes(rig, 1000)
    assert rig.all_sent(LiveOutput) == []


def test_a_tap_ends_with_its_attempt() -> None:
    rig = running()
    rig.tell(tap(for_ms=60_000.0))
    passes(rig, 300)
    rig.tell(TearDown(attempt=A1))
    rig.run(2)
    sent = len(samples(rig))
    passes(rig, 1000)
    assert len(samples(rig)) == sent
    rig.tell(tap(attempt=2))
    passes(rig, 1000)
    assert len(samples(rig)) > sent
    assert rig.all_sent(TaskFailed) == []
