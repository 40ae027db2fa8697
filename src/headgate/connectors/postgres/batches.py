"""Batches, the rows that a subtask wrote for one checkpoint: their names, and their state in the database.

The first job creates the schema `headgate` in the target's database, which holds the state:

    headgate.commits    a mark for each committed batch, set in the transaction that makes its rows visible
    headgate.kept       batches of savepoints, each with its savepoint: they are kept until they are committed
    headgate.attempts   the newest attempt of each owner, which has ended the sessions of earlier attempts
    headgate.owners     job, lineage, uid and table of each owner: names of batches begin with a digest of these
    headgate."staged_<batch>"   rows that wait for their checkpoint (`PostgresSink`)

The name of a batch has its owner, subtask, execution (attempt and driver) and checkpoint. So names are unique, and tell
which batches dead attempts left over. Marks are removed after 30 days, except marks of savepoints. The owner is a
digest of 128 bits over job id, lineage, uid and table, because names of tables and sessions are limited in length.
Batches in snapshots of releases without lineages keep their names, which have `<job>_<operator>` for the owner.
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
    # CREATE SCHEMA IF NOT EXISTS would require the right to create a schema, even if the schema exists.
    f"DO $$ BEGIN IF to_regnamespace('{SCHEMA}') IS NULL THEN CREATE SCHEMA {SCHEMA}; END IF; END $$",
    f'CREATE TABLE IF NOT EXISTS {SCHEMA}.commits (batch text COLLATE "C" PRIMARY KEY, '
    "committed_at timestamptz NOT NULL DEFAULT now(), kept boolean NOT NULL DEFAULT false)",
    f"CREATE INDEX IF NOT EXISTS commits_by_time ON {SCHEMA}.commits (committed_at) WHERE NOT kept",
    f'CREATE TABLE IF NOT EXISTS {SCHEMA}.kept (batch text COLLATE "C" NOT NULL)',
    # Earlier releases did not name the savepoint: a batch that they keep stays until it is committed.
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
    """The rows that one attempt of a subtask wrote for a checkpoint. `checkpoint` is None while it writes."""

    owner: str
    subtask: int
    execution: str
    checkpoint: CheckpointId | None = None

    def __setstate__(self, state: Sequence[Any]) -> None:
        """Restore the fields in order, as dataclasses pickle them; releases without lineages wrote job and operator."""
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
        """Return the batch with its name after the barrier of the checkpoint."""
        return replace(self, checkpoint=checkpoint)

    @property
    def attempt(self) -> int:
        """The number of the attempt that wrote the batch."""
        return int(self.execution.partition(".")[0])

    @property
    def opened(self) -> RowBatch:
        """The batch with its name before its barrier."""
        return replace(self, checkpoint=None)

    def is_before(self, other: RowBatch) -> bool:
        """Return whether this batch was prepared for an earlier checkpoint than `other`."""
        return self.checkpoint is not None and (other.checkpoint is None or self.checkpoint < other.checkpoint)

    @property
    def writer(self) -> str:
        """The prefix of the names of all batches of this attempt of the subtask."""
        return f"{self.of_owner}{self.subtask}_{self.execution}_"

    @property
    def of_owner(self) -> str:
        """The prefix of the names of all batches of the owner."""
        return prefix_of(self.owner)

    @property
    def session(self) -> str:
        """The name of this attempt's sessions in the database."""
        return f"headgate {self.writer}"

    def __str__(self) -> str:
        return self.writer + (_OPEN if self.checkpoint is None else str(self.checkpoint))


def prefix_of(owner: str) -> str:
    """Return the prefix of the names of all batches of an owner."""
    return f"{owner}_"


def session_of_job(job_id: JobId) -> str:
    """Return the name of the sessions of a job's driver in the database."""
    return f"headgate driver of {job_id}"


@final
class Leftovers:
    """Distinguishes batches that earlier attempts left over from batches that a job will still commit."""

    def __init__(self, context: SinkContext, table: str, restored: Iterable[RowBatch]) -> None:
        self._context = context
        self._own = RowBatch.of(context, table)
        self._restored = set(restored)

    @property
    def prefix(self) -> str:
        """The prefix of the names of the owner's batches."""
        return self._own.of_owner

    def among(self, batches: Iterable[RowBatch]) -> list[RowBatch]:
        """Return the batches that this subtask has to remove: its own, and after rescaling those of removed subtasks.

        Batches that were prepared for the restored checkpoint or an earlier one stay: the restore may have assigned
        them to another subtask.
        """
        return [batch for batch in batches if self.is_of_earlier_attempt(batch) and self._is_left_over(batch)]

    def is_of_earlier_attempt(self, batch: RowBatch) -> bool:
        """Return whether an earlier attempt wrote the batch, and this subtask looks after it.

        A batch of a later attempt belongs to another driver.
        """
        mine = batch.subtask % self._context.parallelism == self._context.subtask
        return mine and batch.attempt < self._context.attempt

    def _is_left_over(self, batch: RowBatch) -> bool:
        restored_id = self._context.restored_id
        is_later = batch.checkpoint is None or restored_id is None or batch.checkpoint > restored_id
        return is_later and batch not in self._restored


@final
@dataclass(frozen=True, slots=True)
class Marks:
    """The tables of the schema `headgate`, used through a connection. All methods raise psycopg.Error."""

    connection: Connection

    @classmethod
    def install(cls, connection: Connection) -> Self:
        """Create missing tables. Several jobs may do this at the same time."""
        with connection.transaction():
            if connection.execute(_IS_MISSING).fetchone() == (True,):
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('headgate'))")
                for statement in _TABLES:
                    connection.execute(statement)
        return cls(connection)

    def register(self, identity: SinkIdentity, table: str) -> None:
        """Store the sink as an owner. Raises `SinkError` if the database has another owner with the same digest."""
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
        """Remove an owner, which has no waiting batches."""
        self.connection.execute("DELETE FROM headgate.owners WHERE owner = %s", [owner])

    def add(self, batch: RowBatch) -> bool:
        """Mark a batch as committed, in the current transaction. Return False if it is marked already.

        Blocks while another open transaction has marked the same batch.
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
        """Keep batches until they are committed, or until the savepoint is given up."""
        with self.connection.cursor() as cursor:
            rows = [(str(batch), savepoint) for batch in batches]
            cursor.executemany(
                "INSERT INTO headgate.kept (batch, savepoint) VALUES (%s, %s) ON CONFLICT DO NOTHING", rows
            )

    def give_up(self, savepoints: Collection[str]) -> None:
        """Stop keeping batches for these savepoints, whichever lineage prepared the batches."""
        self.connection.execute("DELETE FROM headgate.kept WHERE savepoint = ANY(%s)", [sorted(savepoints)])

    def without_kept(self, batches: Collection[RowBatch]) -> list[RowBatch]:
        """Return the batches that no savepoint keeps."""
        names = [str(batch) for batch in batches]
        found = self.connection.execute("SELECT batch FROM headgate.kept WHERE batch = ANY(%s)", [names])
        kept = {name for (name,) in found}
        return [batch for batch in batches if str(batch) not in kept]

    def begin_attempt(self, own: RowBatch) -> None:
        """Store the attempt before earlier attempts are fenced, so that they do not open a session again."""
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
        """Remove entries that a committed batch does not need, and old marks. Marks of savepoints stay for ever.

        A savepoint may begin to keep a batch during its commit or just after it.
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
    """End all sessions of an owner's writers. Block until the sessions have ended."""
    for pid, _ in _sessions(connection, prefix_of(owner)):
        connection.execute("SELECT pg_terminate_backend(%s, %s)", [pid, _FENCE_TIMEOUT_MS])


def fence(connection: Connection, leftovers: Leftovers) -> None:
    """End the sessions of earlier attempts that still run. Block until the sessions have ended.

    The server rolls back their unprepared rows and releases their locks.
    """
    for pid, batch in _sessions(connection, leftovers.prefix):
        if leftovers.is_of_earlier_attempt(batch):
            connection.execute("SELECT pg_terminate_backend(%s, %s)", [pid, _FENCE_TIMEOUT_MS])


def later_attempt_writes(connection: Connection, own: RowBatch) -> bool:
    """Return whether a later attempt has a session: it may have ended the session of this attempt by `fence`."""
    return any(batch.attempt > own.attempt for _, batch in _sessions(connection, own.of_owner))


def ended_by_a_later_attempt(table: str) -> SinkError:
    """Return the error of an attempt whose session was ended by `fence`."""
    return SinkError(f"cannot write to table {table!r}: a later attempt of the job has ended this one")


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
