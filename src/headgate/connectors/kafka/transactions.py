"""The names of transactions, which tell who began a transaction and whether it is a leftover.

    <prefix>-<job id>-<lineage>-<uid>-<attempt>.<driver>-<subtask>-<checkpoint>

The prefix is the user's. It comes first because brokers have access rules for prefixes. Releases without lineages left
lineage and driver out. The transaction's records follow the named checkpoint, and the transaction is prepared for a
later checkpoint. Each name is used for one transaction only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, final

from headgate.functions.sink import SinkContext, SinkIdentity
from headgate.ids import CheckpointId, JobId

_MARK: Final = re.compile(r"(.+)-kept(?:-([0-9a-f]{32})(-void)?)?")
"""Earlier releases named no savepoint in the mark: such a transaction is kept until it is committed."""
_VOID: Final = "-void"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """The committable of a checkpoint: one transaction, whose records are all written."""

    transactional_id: str
    topics: tuple[str, ...]
    records: int


def job_prefix(prefix: str, job_id: JobId) -> str:
    """Return the prefix of the names of all transactions of a job."""
    return f"{prefix}-{job_id}-"


def sink_prefix(prefix: str, identity: SinkIdentity) -> str:
    """Return the prefix of the names of all transactions of a sink in one lineage of its job."""
    return f"{job_prefix(prefix, identity.job_id)}{identity.lineage}-{identity.uid}-"


def name_of(prefix: str, context: SinkContext, after: CheckpointId) -> str:
    """Return the name of a subtask's transaction whose records follow checkpoint `after`."""
    return f"{sink_prefix(prefix, context)}{context.execution}-{context.subtask}-{after}"


def mark_of(transactional_id: str, savepoint: str) -> str:
    """Return the transactional id that marks a transaction as part of a savepoint, so that it is kept."""
    return f"{transactional_id}-kept-{savepoint}"


def voids_of(unfinished: list[str], savepoints: frozenset[str]) -> list[str]:
    """Return the transactional ids that make the marks of these savepoints void.

    They are needed because brokers remember an id for seven days, and no client can delete it. Ids that the brokers
    already know are left out.
    """
    marks = [mark for mark in map(_MARK.fullmatch, unfinished) if mark is not None]
    found = {mark[0] for mark in marks if mark[2] in savepoints}
    return [mark + _VOID for mark in sorted(found) if not mark.endswith(_VOID) and mark + _VOID not in found]


def leftovers(unfinished: list[str], prefix: str, context: SinkContext) -> list[str]:
    """Return the unfinished transactions of earlier attempts that this subtask has to abort.

    The driver aborts the transactions of other lineages of the job id: see `of_other_lineages`. A job that starts from
    another job's snapshot takes over that job's prefix. Its subtasks abort the transactions of all other jobs with the
    prefix: of the snapshot's job, and of jobs that started from the same snapshot and died. If such a job still runs,
    it fails: a prefix belongs to one job at a time, as in Flink.

    After rescaling, subtask n looks after the old subtasks whose numbers modulo the parallelism are n. Transactions
    that follow a checkpoint before the restored one are left out. They were prepared for the restored checkpoint at the
    latest, so a subtask has committed them or will: after rescaling that may be any subtask.
    """
    takes_over = context.restored_job not in (None, context.job_id)
    found = []
    for match in _of_uid(unfinished, prefix, context.uid):
        attempt, subtask, after = map(int, match.groups()[2:])
        is_left = takes_over
        if match[1] == context.job_id:
            is_left = match[2] == str(context.lineage) and attempt < context.attempt
        if is_left and subtask % context.parallelism == context.subtask and after >= (context.restored_id or 0):
            found.append(match[0])
    return found


def of_other_lineages(unfinished: list[str], prefix: str, identity: SinkIdentity) -> list[str]:
    """Return the unfinished transactions of other lineages of the job id."""
    return [
        match[0]
        for match in _of_uid(unfinished, prefix, identity.uid)
        if match[1] == identity.job_id and match[2] != str(identity.lineage)
    ]


def abandoned(unfinished: list[str], prefix: str, identity: SinkIdentity) -> list[str]:
    """Return the sink's unfinished transactions, for a job whose checkpoints are all deleted."""
    return [name for name in _not_kept(unfinished) if name.startswith(sink_prefix(prefix, identity))]


def _of_uid(unfinished: list[str], prefix: str, uid: str) -> list[re.Match[str]]:
    """Return matches of names: job id, lineage (None in earlier releases), attempt, subtask and checkpoint."""
    rest = rf"{re.escape(uid)}-(\d+)(?:\.[0-9a-f]+)?-(\d+)-(\d+)"
    pattern = re.compile(rf"{re.escape(prefix)}-([0-9a-f]{{32}})-(?:([0-9a-f]{{32}})-)?{rest}")
    return [match for match in map(pattern.fullmatch, _not_kept(unfinished)) if match is not None]


def _not_kept(unfinished: list[str]) -> list[str]:
    """Return the names of transactions that no savepoint holds."""
    marks = {mark[0]: mark[1] for mark in map(_MARK.fullmatch, unfinished) if mark is not None}
    kept = {name for mark, name in marks.items() if not mark.endswith(_VOID) and mark + _VOID not in marks}
    return [name for name in unfinished if name not in marks and name not in kept]
