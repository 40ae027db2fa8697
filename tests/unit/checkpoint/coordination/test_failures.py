"""Which failed checkpoints count, and when there are too many: a table of rows of checkpoints."""

from __future__ import annotations

import pytest

from headgate.checkpoint.coordination.failures import FailureCounter, FailureReason
from headgate.ids import CheckpointId

DECLINED = FailureReason.DECLINED.told(subtask="1.0", why="disk full")


@pytest.mark.parametrize(
    ("tolerable", "story", "too_many"),
    [
        (0, "f1", [1]),
        (1, "f1 f2", [2]),
        (2, "f1 f2 f3", [3]),
        (1, "f1 c2 f3", []),
        (1, "f1 c2 f3 f4", [4]),
        (0, "c2 f1", []),
        (1, "c3 f1 f2 f3 f4", []),
        (1, "f2 f2 f2", []),
        (1, "f2 c1 f3", []),
        (1, "f1 f2 f3 f4", [2, 4]),
        (0, "f1 f2", [1, 2]),
    ],
    ids=[
        "the first is one too many",
        "more than tolerated",
        "more than tolerated, a longer row",
        "a success between",
        "a new row after a success",
        "one older than a success",
        "all older ones, and one that is not",
        "each counts once",
        "any success begins a new row",
        "a new row after too many",
        "none tolerated, ever",
    ],
)
def test_failures_in_a_row_are_counted(tolerable: int, story: str, too_many: list[int]) -> None:
    counter = FailureCounter(tolerable)
    told: list[int] = []
    for step in story.split():
        checkpoint_id = CheckpointId(int(step[1:]))
        if step[0] == "c":
            counter.completed(checkpoint_id)
        elif counter.failed(checkpoint_id, DECLINED) is not None:
            told.append(checkpoint_id)
    assert told == too_many


def test_what_is_said_names_the_checkpoint_its_reason_and_how_many_there_were() -> None:
    counter = FailureCounter(1)
    counter.failed(CheckpointId(4), FailureReason.ATTEMPT_ENDED.told())
    failure = counter.failed(CheckpointId(5), DECLINED)
    assert failure is not None
    assert failure.reason is FailureReason.TOO_MANY_IN_A_ROW
    assert str(failure) == f"checkpoint 5 failed ({DECLINED}): 2 in a row, 1 tolerated"
