"""The names of transactions: who began them, and which of them are leftovers.

    <prefix>-<job id>-<uid>-<attempt>-<subtask>-<checkpoint>

The checkpoint is the one that the transaction's records come behind: the transaction is prepared for a later one. Each
name is used for one transaction and never again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, final

from headgate.functions.sink import SinkContext
from headgate.ids import CheckpointId, JobId

_MARK: Final = re.compile(r"(.+)-kept-([0-9a-f]{32})(-void)?")
_VOID: Final = "-void"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """What a checkpoint is to commit: one transaction, whose records are all written."""

    transactional_id: str
    topics: tuple[str, ...]
    records: int


def job_prefix(prefix: str, job_id: JobId) -> str:
    """Return how the names of all transactions of a job begin."""
    return f"{prefix}-{job_id}-"


def name_of(prefix: str, context: SinkContext, behind: CheckpointId) -> str:
    """Return the name of a subtask's transaction whose records come behind a checkpoint."""
    return f"{job_prefix(prefix, context.job_id)}{context.uid}-{context.attempt}-{context.subtask}-{behind}"


def mark_of(transactional_id: str, savepoint: str) -> str:
    """Return the name under which brokers note that a transaction belongs to a savepoint, and is to stay."""
    return f"{transactional_id}-kept-{savepoint}"


def voids_of(unfinished: list[str], savepoints: frozenset[str]) -> list[str]:
    """Return the names by which brokers note that marks for these savepoints do not count any more.

    Brokers remember a name for seven days, and delete none earlier. Those that they have been told are left out.
    """
    marks = [mark for mark in map(_MARK.fullmatch, unfinished) if mark is not None]
    found = {mark[0] for mark in marks if mark[2] in savepoints}
    return [mark + _VOID for mark in sorted(found) if not mark.endswith(_VOID) and mark + _VOID not in found]


def leftovers(unfinished: list[str], prefix: str, context: SinkContext) -> list[str]:
    """Return those that earlier attempts left to this subtask.

    A job that starts from the snapshot of another one takes over its prefix: what any other job has left is left to it,
    as those may be that one, or others that started from the same snapshot and died. If they live, they cannot go on:
    one prefix is for one job at a time, as in Flink.

    Of a subtask that there is no more, the leftovers go to the subtask that has its number modulo the parallelism. What
    comes behind an earlier checkpoint than the restored one was prepared for that one at the latest, so it is committed
    or will be: by any subtask, since those of another parallelism deal it out again.
    """
    takes_over = context.restored_job not in (None, context.job_id)
    pattern = re.compile(rf"{re.escape(prefix)}-([0-9a-f]+)-{re.escape(context.uid)}-(\d+)-(\d+)-(\d+)")
    found = []
    for match in filter(None, map(pattern.fullmatch, _not_kept(unfinished))):
        attempt, subtask, behind = map(int, match.groups()[1:])
        is_left = attempt < context.attempt if match[1] == context.job_id else takes_over
        if is_left and subtask % context.parallelism == context.subtask and behind >= (context.restored_id or 0):
            found.append(match[0])
    return found


def abandoned(unfinished: list[str], prefix: str, job_id: JobId) -> list[str]:
    """Return all that a job left, when none of its checkpoints stays."""
    return [name for name in _not_kept(unfinished) if name.startswith(job_prefix(prefix, job_id))]


def _not_kept(unfinished: list[str]) -> list[str]:
    """Return the names of transactions that no savepoint holds."""
    marks = {mark[0]: mark[1] for mark in map(_MARK.fullmatch, unfinished) if mark is not None}
    kept = {name for mark, name in marks.items() if not mark.endswith(_VOID) and mark + _VOID not in marks}
    return [name for name in unfinished if name not in marks and name not in kept]
