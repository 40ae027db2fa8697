"""Batch ids: the number that a stream writer is given with each commit, and may remember as the last one.

A writer that skips the ids up to the last one must never see an id of an earlier run again. So ids grow within a
lineage, with its checkpoints, and from lineage to lineage, with the time at which each began: 2**24 ids for each
hundredth of a second since 1970. They are below 2**63, as Spark's are, until the year 2144.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from pyspark.sql.datasource import WriterCommitMessage

from headgate.ids import CheckpointId, Lineage

_IDS_PER_TICK: Final = 2**24
_TICK_MS: Final = 10


@final
@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """A message of the writer, and after which batch id those of its lineage follow."""

    message: WriterCommitMessage
    after: int


def first_id_of(lineage: Lineage) -> int:
    """Return the id that all batches of a lineage come after.

    >>> first_id_of(Lineage("cd61", 20)) + CheckpointId(3)
    33554435
    """
    return lineage.began_ms // _TICK_MS * _IDS_PER_TICK


def batches_of(checkpoint_id: CheckpointId, committables: list[Any]) -> dict[int, list[WriterCommitMessage]]:
    """Return the messages of a checkpoint by their batch ids, lowest first.

    Releases without lineages kept the messages themselves, and gave the checkpoint's number as the id.
    """
    batches: dict[int, list[WriterCommitMessage]] = {}
    for each in committables:
        prepared = each if isinstance(each, PreparedMessage) else PreparedMessage(each, 0)
        batches.setdefault(prepared.after + checkpoint_id, []).append(prepared.message)
    return dict(sorted(batches.items()))
