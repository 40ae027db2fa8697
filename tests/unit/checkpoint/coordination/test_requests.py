"""Which checkpoint starts next, and when: tables of what waits and what is under way."""

from __future__ import annotations

import pytest

from headgate.checkpoint.coordination.pending import PendingCheckpoint
from headgate.checkpoint.coordination.schedule import NOW, REQUESTS_MAX, CheckpointSchedule, RequestQueue
from headgate.checkpoint.coordination.vocabulary import CheckpointRequest, CheckpointSettings
from headgate.elements import Barrier
from headgate.ids import Attempt, CheckpointId
from tests.unit.checkpoint.coordinated import order

CHECKPOINT = CheckpointRequest(number=1)
SAVEPOINT = CheckpointRequest(number=2, savepoint=order(2))
STOP = CheckpointRequest(number=3, savepoint=order(3, stops=True))


def under_way(*kinds: str) -> list[PendingCheckpoint]:
    """Pending ones by a letter each: c(heckpoint), s(avepoint), f(inal checkpoint)."""
    return [
        PendingCheckpoint(
            barrier=Barrier(CheckpointId(id_), 0, savepoint=order(id_) if kind == "s" else None),
            attempt=Attempt(1),
            expires_ms=500.0,
            final=kind == "f",
            request=None,
        )
        for id_, kind in enumerate(kinds, 1)
    ]


@pytest.mark.parametrize(
    ("request_", "pending", "settings", "starts"),
    [
        (CHECKPOINT, "", {}, True),
        (CHECKPOINT, "c", {}, False),
        (CHECKPOINT, "c", {"max_concurrent": 2}, True),
        (CHECKPOINT, "cc", {"max_concurrent": 2}, False),
        (CHECKPOINT, "s", {}, False),
        (CHECKPOINT, "s", {"max_concurrent": 2}, True),
        (CHECKPOINT, "c", {"forced": True}, True),
        (CHECKPOINT, "c", {"max_concurrent": 2, "min_pause_ms": 50}, True),
        (SAVEPOINT, "", {}, True),
        (SAVEPOINT, "c", {}, True),
        (SAVEPOINT, "cs", {}, True),
        (STOP, "cc", {}, True),
        (CHECKPOINT, "", {"unaligned_after_ms": 0}, True),
        (CHECKPOINT, "s", {"unaligned_after_ms": 0, "max_concurrent": 2}, False),
        (CHECKPOINT, "c", {"unaligned_after_ms": 0, "forced": True}, False),
        (SAVEPOINT, "c", {"unaligned_after_ms": 0}, False),
        (SAVEPOINT, "c", {"unaligned_after_ms": 1000}, False),
        (SAVEPOINT, "s", {"unaligned_after_ms": 0}, True),
        (STOP, "f", {"unaligned_after_ms": 0}, True),
    ],
)
def test_a_request_starts_as_soon_as_there_is_room(
    request_: CheckpointRequest, pending: str, settings: dict[str, int], starts: bool
) -> None:
    schedule = CheckpointSchedule(CheckpointSettings(interval_ms=100, **settings))  # type: ignore[arg-type]
    schedule.begin(0.0)
    schedule.ended(0.0)
    assert schedule.due_ms(request_, under_way(*pending)) == (NOW if starts else None)


@pytest.mark.parametrize(
    ("pending", "settings", "due_ms"),
    [
        ("", {}, 100.0),
        ("c", {}, None),
        ("s", {}, None),
        ("c", {"max_concurrent": 2}, 100.0),
        ("s", {"max_concurrent": 2, "unaligned_after_ms": 0}, None),
        ("", {"min_pause_ms": 40}, 130.0),
        ("c", {"min_pause_ms": 40, "max_concurrent": 2}, None),
        ("c", {"min_pause_ms": 40, "forced": True}, 100.0),
    ],
)
def test_a_periodic_checkpoint_starts_by_interval_pause_and_limit(
    pending: str, settings: dict[str, int], due_ms: float | None
) -> None:
    schedule = CheckpointSchedule(CheckpointSettings(interval_ms=100, **settings))  # type: ignore[arg-type]
    schedule.begin(0.0)
    schedule.ended(90.0)
    assert schedule.due_ms(None, under_way(*pending)) == due_ms


def test_a_request_that_waits_holds_the_periodic_checkpoint_back() -> None:
    schedule = CheckpointSchedule(CheckpointSettings(interval_ms=100))
    schedule.begin(0.0)
    assert schedule.due_ms(CHECKPOINT, under_way("c")) is None


def test_savepoints_go_first_and_then_the_oldest() -> None:
    queue = RequestQueue()
    asked = [CHECKPOINT, CheckpointRequest(number=4), STOP, SAVEPOINT]
    assert all(queue.add(request) for request in asked)
    assert queue.stopping == STOP
    taken = []
    while queue.first is not None:
        taken.append(queue.first)
        queue.take(queue.first)
    assert taken == [STOP, SAVEPOINT, CHECKPOINT, CheckpointRequest(number=4)]


def test_a_thousand_requests_may_wait() -> None:
    queue = RequestQueue()
    assert all(queue.add(CheckpointRequest(number=number)) for number in range(REQUESTS_MAX))
    assert not queue.add(SAVEPOINT)
    assert [request.number for request in queue.take_all()] == list(range(REQUESTS_MAX))
    assert queue.add(SAVEPOINT)
