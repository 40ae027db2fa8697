"""An owner does one piece of work at a time, and steps wait for each other."""

from __future__ import annotations

from functools import partial
from typing import Any

from headgate.errors import StorageError
from headgate.runtime.job_storage.owners import Steps, StorageOwner, run, step
from tests.unit.runtime.plans import HeldIo


def test_an_owner_does_one_piece_of_work_at_a_time_and_in_order() -> None:
    io, told = HeldIo(), list[Any]()
    owner, other = StorageOwner(io), StorageOwner(io)
    for number in (1, 2, 3):
        owner.submit(partial(int, number), told.append)
    other.submit(lambda: 4, told.append)
    assert len(io.held) == 2, "one piece of each owner"
    io.run()
    assert [number for number in told if number != 4] == [1, 2, 3]
    assert 4 in told


def test_an_owner_goes_on_after_work_that_fails() -> None:
    io, told = HeldIo(), list[Any]()
    owner = StorageOwner(io)

    def fail() -> None:
        raise StorageError("no answer")

    owner.submit(fail, told.append)
    owner.submit(lambda: 2, told.append)
    io.run()
    assert isinstance(told[0], StorageError)
    assert told[1:] == [2]


def test_steps_hand_on_results_and_failures_and_end_what_they_have_begun() -> None:
    io, told, log = HeldIo(), list[Any](), list[str]()
    first, second = StorageOwner(io), StorageOwner(io)

    def fail() -> None:
        raise StorageError("no answer")

    def steps() -> Steps[int]:
        try:
            number = yield from step(first, lambda: 20)
            log.append(f"got {number}")
            yield from step(second, fail)
        except StorageError as error:
            log.append(str(error))
        finally:
            number = yield from step(first, lambda: 22)
        return 20 + number

    run(steps(), told.append)
    io.run()
    assert log == ["got 20", "no answer"]
    assert told == [42]
