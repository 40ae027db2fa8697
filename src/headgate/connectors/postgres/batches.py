"""Batches: what a subtask has written for one checkpoint, how it is called, and what the database remembers of it.

The schema `headgate` of the target's database, made by the first job, holds it all:

    headgate.commits    a mark for each batch that is committed, set in the transaction that makes its rows visible
    headgate.kept       batches that are part of a savepoint, with it: they stay until they are committed
    headgate.attempts   the newest attempt of each owner, which has ended the sessions of the earlier ones
    headgate.owners     job, lineage, uid and table of each owner: names of batches begin with a digest of these
    headgate."staged_<batch>"   rows that wait for their checkpoint (`PostgresSink`)

A batch is named by its owner, subtask, execution (attempt and driver) and checkpoint, so no two ever have the same
name, and what dead attempts left over is known by it. Marks are removed after 30 days, except marks of savepoints. The
owner is a digest of 128 bits over job id, lineage, uid and table, as names of tables and sessions have no room for
more. Batches in snapshots of releases without lineages keep the names that they were prepared under,
`<job>_<operator>` for the owner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, final

from headgate.connectors.postgres.database import Connection
from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError, SinkContext, SinkIdentity
from headgate.ids import CheckpointId, JobId

SCHEMA: Final = "headgate"
_OPEN: Final = "open"
_MARKS_KEPT: Final = "30 days"
_FENCE_TIMEOUT_MS: Final = 10_000
_IS_MISSING: Final = (
    "SELECT to_regclass('headgate.commits') IS NULL OR to_regclass('headgate.attempts') IS NULL "
    "OR to_regclass('headgate.owners') IS NULL OR NOT EXISTS "
    "(SELECT FROM pg_attribute WHERE attrelid = to_regclass('headgate.kept') AND attname = 'savepoint')"
)
_TABLES: Final = (
    # CREATE SCHEMA IF NOT EXISTS would ask for the right to create one, also when there is one.
    f"DO $$ BEGIN IF to_regnamespace('{SCHEMA}') IS NULL THEN CREATE SCHEMA {SCHEMA}; END IF; END $$",
    f'CREATE TABLE IF NOT EXISTS {SCHEMA}.commits (batch text COLLATE "C" PRIMARY KEY, '
    "committed_at timestamptz NOT NULL DEFAULT now(), kept boolean NOT NULL DEFAULT false)",
    f"CREATE INDEX IF NOT EXISTS commits_by_time ON {SCHEMA}.commits (committed_at) WHERE NOT kept",
    f'CREATE TABLE IF NOT EXISTS {SCHEMA}.kept (batch text COLLATE "C" NOT NULL)',
    # Earlier releases did not tell savepoints apart: what they keep stays until it is committed.
    f"ALTER TABLE {SCHEMA}.kept ADD COLUMN IF NOT EXISTS savepoint text COLLATE \"C\" NOT NULL DEFAULT ''",
    f"ALTER TABLE {SCHEMA}.kept DROP CONSTRAINT IF EXISTS kept_pkey",
    f"ALTER TABLE {SCHEMA}.kept ADD PRIMARY KEY (batch, savepoint)",
    f'CREATE TABLE IF NOT EXISTS {SCHEMA}.attempts (operator text COLLATE "C" PRIMARY KEY, attempt bigint NOT NULL, '
    "begun_at timestamptz NOT NULL DEFAULT now())",
    f'CREATE TABLE IF NOT EXISTS {SCHEMA}.owners (owner text COLLATE "C" PRIMARY KEY, job_id text NOT NULL, '
    'lineage text NOT NULL, uid text NOT NULL, "table" text NOT NULL, since timestamptz NOT NULL DEFAULT now())',
)


@final
@dataclass(frozen=True, slots=True)
class RowBatch:
    """What one attempt of a subtask has written for a checkpoint, None while it is being written."""

    owner: str
    subtask: int
    execution: str
    checkpoint: CheckpointId | None = None

    def __setstate__(self, state: Sequence[Any]) -> None:
        """Take the fields in order, as dataclasses pickle them; releases without lineages wrote job and operator."""
        *owner, subtask, execution, checkpoint = state
        self.__init__("_".join(owner), subtask, str(execution), checkpoint)

    @staticmethod
    def of(context: SinkContext, table: str) -> RowBatch:
        """Return the batch that a subtask is writing to the table."""
        return RowBatch(context.digest(table), context.subtask, context.execution)

    @staticmethod
    def parse(name: str) -> RowBatch:
        """Return the batch that has this name."""
        owner, subtask, execution, checkpoint = name.rsplit("_", 3)
        prepared = None if checkpoint == _OPEN else CheckpointId(int(checkpoint))
        return RowBatch(owner, int(subtask), execution, prepared)

    def at(self, checkpoint: CheckpointId) -> RowBatch:
        """Return the batch under the name that it has from the barrier of the checkpoint on."""
        return replace(self, checkpoint=checkpoint)

    @property
    def attempt(self) -> int:
        """The attempt that has written it."""
        return int(self.execution.partition(".")[0])

    @property
    def opened(self) -> RowBatch:
        """The batch under the name that it had before its barrier."""
        return replace(self, checkpoint=None)

    def is_before(self, other: RowBatch) -> bool:
        """Return whether this batch was prepared, and for an earlier checkpoint."""
        return self.checkpoint is not None and (other.checkpoint is None or self.checkpoint < other.checkpoint)

    @property
    def writer(self) -> str:
        """How the names of all batches of this attempt of the subtask begin."""
        return f"{self.of_owner}{self.subtask}_{self.execution}_"

    @property
    def of_owner(self) -> str:
        """How the names of all batches of the owner begin."""
        return prefix_of(self.owner)

    @property
    def session(self) -> str:
        """The name of this attempt's sessions in the database."""
        return f"headgate {self.writer}"

    def __str__(self) -> str:
        return self.writer + (_OPEN if self.checkpoint is None else str(self.checkpoint))


def prefix_of(owner: str) -> str:
    """Return how the names of all batches of an owner begin."""
    return f"{owner}_"


def session_of_job(job_id: JobId) -> str:
    """Return the name of the sessions of a job's driver in the database."""
    return f"headgate driver of {job_id}"


@final
class Leftovers:
    """Tells what earlier attempts left over from what some job will still commit."""

    def __init__(self, context: SinkContext, table: str, restored: Iterable[RowBatch]) -> None:
        self._context = context
        self._own = RowBatch.of(context, table)
        self._restored = set(restored)

    @property
    def prefix(self) -> str:
        """How the names of batches of the owner begin."""
        return self._own.of_owner

    def among(self, batches: Iterable[RowBatch]) -> list[RowBatch]:
        """Return what this subtask is to remove, of itself or of subtasks that no longer exist after rescaling.

        A batch that was prepared for the restored checkpoint or an earlier one may have been handed to another subtask.
        """
        return [batch for batch in batches if self.is_of_earlier_attempt(batch) and self._is_left_over(batch)]

    def is_of_earlier_attempt(self, batch: RowBatch) -> bool:
        """Return whether this subtask looks after a batch, and it is no later attempt's: that is another driver's."""
        mine = batch.subtask % self._context.parallelism == self._context.subtask
        return mine and batch.attempt < self._context.attempt

    def _is_left_over(self, batch: RowBatch) -> bool:
        restored_id = self._context.restored_id
        is_later = batch.checkpoint is None or restored_id is None or batch.checkpoint > restored_id
        return is_later and batch not in self._restored


@final
@dataclass(frozen=True, slots=True)
class Marks:
    """What the schema `headgate` remembers, seen through a connection. Its methods raise psycopg.Error."""

    connection: Connection

    @classmethod
    def install(cls, connection: Connection) -> Self:
        """Make the tables that are missing. Several jobs may do so at once."""
        with connection.transaction():
            if connection.execute(_IS_MISSING).fetchone() == (True,):
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('headgate'))")
                for statement in _TABLES:
                    connection.execute(statement)
        return cls(connection)

    def register(self, identity: SinkIdentity, table: str) -> None:
        """Note whose batches these are. Raises `SinkError` if the database has another owner under this name."""
        owner, own = identity.digest(table), (identity.job_id, str(identity.lineage), identity.uid, table)
        self.connection.execute(
            "INSERT INTO headgate.owners VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING", [owner, *own]
        )
        ((*found,),) = self.connection.execute(
            'SELECT job_id, lineage, uid, "table" FROM headgate.owners WHERE owner = %s', [owner]
        )
        if tuple(found) != own:
            job_id, lineage, uid, other = found
            raise SinkError(
                f"the name {owner!r} in headgate.owners belongs to the sink {uid!r} of job {job_id} (lineage {lineage})"
                f" to table {other!r}: start this job under another headgate.job.id"
            )

    def others(self, identity: SinkIdentity, table: str) -> list[str]:
        """Return the owners that this sink had in other lineages of the job, or with another table."""
        found = self.connection.execute(
            "SELECT owner FROM headgate.owners WHERE job_id = %s AND uid = %s AND owner <> %s",
            [identity.job_id, identity.uid, identity.digest(table)],
        )
        return [owner for (owner,) in found]

    def forget(self, owner: str) -> None:
        """Forget an owner, of whose batches none waits."""
        self.connection.execute("DELETE FROM headgate.owners WHERE owner = %s", [owner])

    def add(self, batch: RowBatch) -> bool:
        """Mark a batch as committed, in the current transaction; return False if it is so already.

        Waits for another transaction that is about to mark it.
        """
        marked = self.connection.execute(
            "INSERT INTO headgate.commits (batch) VALUES (%s) ON CONFLICT DO NOTHING", [str(batch)]
        )
        return marked.rowcount == 1

    def has(self, batch: RowBatch) -> bool:
        """Return whether a batch is committed."""
        found = self.connection.execute("SELECT FROM headgate.commits WHERE batch = %s", [str(batch)])
        return found.rowcount == 1

    def keep(self, batches: Iterable[RowBatch], savepoint: str) -> None:
        """Let batches stay until they are committed, or the savepoint is given up."""
        with self.connection.cursor() as cursor:
            rows = [(str(batch), savepoint) for batch in batches]
            cursor.executemany(
                "INSERT INTO headgate.kept (batch, savepoint) VALUES (%s, %s) ON CONFLICT DO NOTHING", rows
            )

    def give_up(self, savepoints: Collection[str]) -> None:
        """Let no batch stay for these savepoints, whichever lineage has prepared it."""
        self.connection.execute("DELETE FROM headgate.kept WHERE savepoint = ANY(%s)", [sorted(savepoints)])

    def without_kept(self, batches: Collection[RowBatch]) -> list[RowBatch]:
        """Return those that no savepoint keeps."""
        names = [str(batch) for batch in batches]
        found = self.connection.execute("SELECT batch FROM headgate.kept WHERE batch = ANY(%s)", [names])
        kept = {name for (name,) in found}
        return [batch for batch in batches if str(batch) not in kept]

    def begin_attempt(self, own: RowBatch) -> None:
        """Note the attempt, before its predecessors are fenced: none of them is to open a session again."""
        self.connection.execute(
            "INSERT INTO headgate.attempts AS a VALUES (%s, %s) ON CONFLICT (operator) DO UPDATE "
            "SET attempt = EXCLUDED.attempt, begun_at = now() WHERE a.attempt < EXCLUDED.attempt",
            [own.of_owner, own.attempt],
        )
        self.connection.execute(
            "DELETE FROM headgate.attempts WHERE begun_at < now() - %s::interval AND operator <> %s",
            [_MARKS_KEPT, own.of_owner],
        )

    def is_superseded(self, own: RowBatch) -> bool:
        """Return whether a later attempt has begun."""
        found = self.connection.execute(
            "SELECT FROM headgate.attempts WHERE operator = %s AND attempt > %s", [own.of_owner, own.attempt]
        )
        return found.rowcount == 1

    def settle(self, batch: RowBatch) -> None:
        """Forget what is not needed once a batch is committed; the mark of a savepoint's batch is kept for ever.

        A batch may be kept while it is being committed, or just after.
        """
        kept = self.connection.execute("DELETE FROM headgate.kept WHERE batch = %s", [str(batch)])
        if kept.rowcount:
            self.connection.execute("UPDATE headgate.commits SET kept = true WHERE batch = %s", [str(batch)])
        self.connection.execute(
            "DELETE FROM headgate.commits WHERE committed_at < now() - %s::interval AND NOT kept "
            "AND starts_with(batch, %s) AND batch NOT IN (SELECT batch FROM headgate.kept)",
            [_MARKS_KEPT, batch.writer],
        )


def fence_owner(connection: Connection, owner: str) -> None:
    """End all sessions of an owner's writers; block until they are gone."""
    for pid, _ in _sessions(connection, prefix_of(owner)):
        connection.execute("SELECT pg_terminate_backend(%s, %s)", [pid, _FENCE_TIMEOUT_MS])


def fence(connection: Connection, leftovers: Leftovers) -> None:
    """End the sessions of earlier attempts that have not noticed their end; block until they are gone.

    What they had not prepared is rolled back, and what they lock is free.
    """
    for pid, batch in _sessions(connection, leftovers.prefix):
        if leftovers.is_of_earlier_attempt(batch):
            connection.execute("SELECT pg_terminate_backend(%s, %s)", [pid, _FENCE_TIMEOUT_MS])


def later_attempt_writes(connection: Connection, own: RowBatch) -> bool:
    """Return whether a later attempt has a session: it may have ended the session of this attempt by `fence`."""
    return any(batch.attempt > own.attempt for _, batch in _sessions(connection, own.of_owner))


def ended_by_a_later_attempt(table: str) -> SinkError:
    """Return the error of an attempt whose session was ended by `fence`."""
    return SinkError(f"cannot write to table {table!r}: a later attempt of the job has begun, and has ended this one")


def _sessions(connection: Connection, prefix: str) -> list[tuple[int, RowBatch]]:
    """Return the process id and the writer of each session of the owner whose batches have this prefix."""
    found = connection.execute(
        "SELECT pid, application_name FROM pg_stat_activity WHERE datname = current_database() "
        "AND usename = current_user AND starts_with(application_name, %s)",
        [f"headgate {prefix}"],
    )
    return [(pid, RowBatch.parse(name.removeprefix("headgate ") + _OPEN)) for pid, name in found]


def lost(batch: RowBatch, what: str, database: object) -> CommitLostError:
    """Return the error for a batch that is neither pending nor marked as committed."""
    return CommitLostError(
        f"output of complete checkpoint {batch.checkpoint} is lost: {database} has neither {what} nor a mark in "
        f"headgate.commits that batch {batch} is committed. Somebody removed it, or the server went back to a backup, "
        "or the snapshot is older than 30 days. Restore the job from an older checkpoint; or, if the rows are known to "
        f"be in the table, run INSERT INTO headgate.commits (batch) VALUES ('{batch}') and start again"
    )
