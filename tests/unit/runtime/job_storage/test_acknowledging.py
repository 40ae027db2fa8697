"""Sources that find the last of their splits, and those that tell the outside what is read for good."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headgate.errors import RestoreError, SuppressRestartsException
from headgate.functions.acknowledging import Acknowledger, SourceProgress
from headgate.functions.source import NO_MORE_SPLITS, NoMoreSplits
from headgate.job_status import JobStatus
from tests.unit.runtime.master.test_discovery import (
    TOPICS,
    Place,
    Topics,
    appear,
    clear,
    everything,
    rig_of,
    until_committed,
)
from tests.unit.runtime.master.test_job_master import CALLS, FAIL_AT
from tests.unit.runtime.master.test_savepoints import COMMITTED


@pytest.fixture(autouse=True)
def _clear() -> None:
    clear()


class Three(Topics):
    """Ends when the third topic has been found."""

    bounded = discovery_ends = True

    def discover(self, known: frozenset[str]) -> list[Place] | NoMoreSplits:
        return NO_MORE_SPLITS if len(known) == 3 else super().discover(known)


@pytest.mark.parametrize("fails_at", [set(), {3, 9, 20}], ids=["at once", "through failures"])
@pytest.mark.parametrize("fetches", [False, True], ids=["at once", "fetching"])
def test_a_job_ends_when_there_will_be_no_more_splits_and_those_there_were_are_read(
    fetches: bool, fails_at: set[int]
) -> None:
    FAIL_AT.update(fails_at)
    rig = rig_of(Three(fetches=fetches))
    rig.run_until(lambda: CALLS[0] >= 2)
    appear(2)
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(COMMITTED) == everything()


def test_a_source_can_say_that_it_will_never_find_anything_again() -> None:
    rig = rig_of()
    until_committed(rig, everything())

    def look(_: frozenset[str]) -> None:
        raise OSError("gone") from SuppressRestartsException("for good")

    Topics.look = look
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert "Source: op0: gone" in str(outcome.cause)
    assert rig.master.progress.restarts == 0


class Notes(Acknowledger[Place]):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, list[str], int]] = []
        self.refuses = False

    def restored(self, progress: SourceProgress[Place]) -> None:
        if self.refuses:
            raise RestoreError("the topics have gone on without you")
        self.note("restored", progress)

    def completed(self, progress: SourceProgress[Place]) -> None:
        self.note("completed", progress)

    def note(self, what: str, progress: SourceProgress[Place]) -> None:
        self.heard.append((what, sorted(progress.known), len(progress.unfinished)))

    def close(self) -> None:
        self.heard.append(("closed", [], 0))


class Acknowledged(Topics):
    """Remembers the newest topic only."""

    def __init__(self, notes: Notes) -> None:
        super().__init__()
        self.notes: Notes | None = notes

    def discover(self, known: frozenset[str]) -> list[Place] | NoMoreSplits:
        assert len(known) <= 1
        newest = max(known, default="")
        return [(name, 0) for name in TOPICS if name > newest]

    def to_remember(self, known: Iterable[str]) -> list[str]:
        return [max(known)]

    def acknowledger(self) -> Acknowledger[Place] | None:
        return self.notes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "notes": None}


def test_a_source_that_acknowledges_hears_of_each_attempt_and_checkpoint_and_has_one_taken_when_all_is_read() -> None:
    notes = Notes()
    rig = rig_of(Acknowledged(notes), readers=1, execution__checkpointing__interval="1 h")
    until_committed(rig, [])
    appear()
    rig.run_until(lambda: ("completed", ["t1"], 0) in notes.heard)
    assert notes.heard == [("restored", [], 0), ("completed", ["t1"], 0)]
    until_committed(rig, everything())
    FAIL_AT.add(CALLS[0] + 3)
    appear()
    until_committed(rig, everything())
    assert notes.heard[2:] == [("restored", ["t1"], 0), ("completed", ["t2"], 0)]
    rig.master.cancel()
    rig.end()
    assert notes.heard[-1] == ("closed", [], 0)


def test_a_source_may_refuse_what_an_attempt_starts_from() -> None:
    notes = Notes()
    rig = rig_of(Acknowledged(notes), readers=1)
    rig.run_until(lambda: CALLS[0] >= 3)
    notes.refuses = True
    FAIL_AT.add(CALLS[0] + 1)
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert "the topics have gone on without you" in str(outcome.cause)
