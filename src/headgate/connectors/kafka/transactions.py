"""The names of transactions: who began them, and which of them are leftovers.

    <prefix>-<job id>-<lineage>-<uid>-<attempt>.<driver>-<subtask>-<checkpoint>

The prefix is the user's, and stands in front: access rules of the brokers are made for it. Releases without lineages
left lineage and driver out. The checkpoint is the one that the transaction's records come behind: the transaction is
prepared for a later one. Each name is used for one transaction and never again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, final

from headgate.functions.sink import SinkContext, SinkIdentity
from headgate.ids import CheckpointId, JobId

_MARK: Final = re.compile(r"(.+)-kept(?:-([0-9a-f]{32})(-void)?)?")
"""Earlier releases named no savepoint: what they keep stays until it is committed."""
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


def sink_prefix(prefix: str, identity: SinkIdentity) -> str:
    """Return how the names of all transactions of a sink begin in one lineage of its job."""
    return f"{job_prefix(prefix, identity.job_id)}{identity.lineage}-{identity.uid}-"


def name_of(prefix: str, context: SinkContext, behind: CheckpointId) -> str:
    """Return the name of a subtask's transaction whose records come behind a checkpoint."""
    return f"{sink_prefix(prefix, context)}{context.execution}-{context.subtask}-{behind}"


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
    """Return those that earlier attempts of the lineage left to this subtask.

    What other lineages of the job id have left is for the driver: see `of_other_lineages`. A job that starts from the
    snapshot of another one takes over its prefix: what any other job has left is left to it, as those may be that one,
    or others that started from the same snapshot and died. If they live, they cannot go on: one prefix is for one job
    at a time, as in Flink.

    Of a subtask that there is no more, the leftovers go to the subtask that has its number modulo the parallelism. What
    comes behind an earlier checkpoint than the restored one was prepared for that one at the latest, so it is committed
    or will be: by any subtask, since those of another parallelism deal it out again.
    """
    takes_over = context.restored_job not in (None, context.job_id)
    found = []
    for match in _of_uid(unfinished, prefix, context.uid):
        attempt, subtask, behind = map(int, match.groups()[2:])
        is_left = takes_over
        if match[1] == context.job_id:
            is_left = match[2] == str(context.lineage) and attempt < context.attempt
        if is_left and subtask % context.parallelism == context.subtask and behind >= (context.restored_id or 0):
            found.append(match[0])
    return found


def of_other_lineages(unfinished: list[str], prefix: str, identity: SinkIdentity) -> list[str]:
    """Return those that other lineages of the job id have left."""
    return [
        match[0]
        for match in _of_uid(unfinished, prefix, identity.uid)
        if match[1] == identity.job_id and match[2] != str(identity.lineage)
    ]


def abandoned(unfinished: list[str], prefix: str, identity: SinkIdentity) -> list[str]:
    """Return all that a sink left, when none of the job's checkpoints stays."""
    return [name for name in _not_kept(unfinished) if name.startswith(sink_prefix(prefix, identity))]


def _of_uid(unfinished: list[str], prefix: str, uid: str) -> list[re.Match[str]]:
    """Return the names, as job id, lineage (None: of an earlier release), attempt, subtask and checkpoint."""
    rest = rf"{re.escape(uid)}-(\d+)(?:\.[0-9a-f]+)?-(\d+)-(\d+)"
    pattern = re.compile(rf"{re.escape(prefix)}-([0-9a-f]{{32}})-(?:([0-9a-f]{{32}})-)?{rest}")
    return [match for match in map(pattern.fullmatch, _not_kept(unfinished)) if match is not None]


def _not_kept(unfinished: list[str]) -> list[str]:
    """Return the names of transactions that no savepoint holds."""
    marks = {mark[0]: mark[1] for mark in map(_MARK.fullmatch, unfinished) if mark is not None}
    kept = {name for mark, name in marks.items() if not mark.endswith(_VOID) and mark + _VOID not in marks}
    return [name for name in unfinished if name not in marks and name not in kept]
