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

_KEPT: Final = "-kept"
_END: Final = re.compile(r"(\d+)-(\d+)-(\d+)")


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
    return f"{_operator_prefix(prefix, context.job_id, context.uid)}{context.attempt}-{context.subtask}-{behind}"


def mark_of(transactional_id: str) -> str:
    """Return the name under which brokers note that a transaction belongs to a savepoint, and is to stay."""
    return transactional_id + _KEPT


def leftovers(unfinished: list[str], prefix: str, context: SinkContext) -> list[str]:
    """Return those that earlier attempts left to this subtask, and the job whose snapshot this one starts from.

    If that job lives, it cannot go on: one prefix is for one job at a time, as in Flink. Of a subtask that there is no
    more, the leftovers go to the subtask that has its number modulo the parallelism. What comes behind an earlier
    checkpoint than the restored one was prepared for that one at the latest, so it is committed or will be: by any
    subtask, since those of another parallelism deal it out anew.
    """
    found = []
    for job_id in dict.fromkeys((context.job_id, context.restored_job or context.job_id)):
        begin = _operator_prefix(prefix, job_id, context.uid)
        for transactional_id in (name for name in _not_kept(unfinished) if name.startswith(begin)):
            match = _END.fullmatch(transactional_id.removeprefix(begin))
            if match is not None:
                attempt, subtask, behind = map(int, match.groups())
                is_earlier = attempt < context.attempt or job_id != context.job_id
                is_mine = subtask % context.parallelism == context.subtask
                if is_earlier and is_mine and behind >= (context.restored_id or 0):
                    found.append(transactional_id)
    return found


def abandoned(unfinished: list[str], prefix: str, job_id: JobId) -> list[str]:
    """Return all that a job left, when none of its checkpoints stays."""
    return [name for name in _not_kept(unfinished) if name.startswith(job_prefix(prefix, job_id))]


def _not_kept(unfinished: list[str]) -> list[str]:
    """Return the names of transactions that no savepoint holds."""
    marks = {name for name in unfinished if name.endswith(_KEPT)}
    return [name for name in unfinished if name not in marks and mark_of(name) not in marks]


def _operator_prefix(prefix: str, job_id: JobId, uid: str) -> str:
    return f"{job_prefix(prefix, job_id)}{uid}-"
