"""Calls of `map_batches` on threads: what begins while a cancelled call still has its thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.unit.operators.test_batch_calls import Counted, harness


def test_no_call_begins_while_a_cancelled_one_has_its_thread() -> None:
    Counted.closed = 0
    works: list[Callable[[], Any]] = []
    one, other = harness(Counted), harness(Counted)
    other.services = one.services
    one.open()
    other.open()
    one.services.submit_waiting = lambda work, done: works.append(work)  # type: ignore[method-assign]
    one.process(1, 2, 3)
    other.process(4, 5, 6)
    one.later()
    one.operator.close()
    other.later()
    assert len(works) == 1, "the first one may still compute"
    other.close()
    assert Counted.closed == 0
    works[0]()
    assert Counted.closed == 1


def test_a_call_begins_once_the_thread_of_a_cancelled_one_has_ended() -> None:
    works: list[Any] = []
    one, other = harness(Counted), harness(Counted)
    other.services = one.services
    one.open()
    other.open()
    one.services.submit_waiting = lambda work, done: works.append((work, done))  # type: ignore[method-assign]
    one.process(1, 2, 3)
    other.process(4, 5, 6)
    one.later()
    one.operator.close()
    for work, done in works:  # it grows
        done(work())
        other.later()
    assert len(works) == 2
    other.close()
