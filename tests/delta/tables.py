"""Delta tables for the tests: a sink as a contract suite can drive it, and what a reader sees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from headgate.connectors.delta import DeltaSink
from headgate.connectors.delta.table import DataFile
from headgate.functions.sink import SinkIdentity
from headgate.ids import CheckpointId, JobId, Lineage
from headgate.testing.contracts.sink import sink_context

SCHEMA: Final = pa.schema([("number", pa.int64()), ("word", pa.string())])
JOB: Final = SinkIdentity(job_id=JobId("a1" * 16), lineage=Lineage("c3" * 16, 0), uid="sink")
OTHER_JOB: Final = SinkIdentity(job_id=JobId("b2" * 16), lineage=Lineage("d4" * 16, 0), uid="sink")


def rows_of(table_uri: str | Path, **options: Any) -> list[dict[str, Any]]:
    """What a reader of the table sees now, in order of `number`; options are those of DeltaTable."""
    return sorted(DeltaTable(table_uri, **options).to_pyarrow_table().to_pylist(), key=lambda row: row["number"])


def query(table_uri: str | Path, sql: str) -> list[dict[str, Any]]:
    """The answer to a query of the table `t`, which leaves out files by their statistics."""
    batches = QueryBuilder().register("t", DeltaTable(table_uri)).execute(sql)
    return pa.table(batches).to_pylist()  # type: ignore[no-any-return]


def versions_of(table_uri: str | Path) -> int:
    """How many commits the table has, its creation not counted."""
    return DeltaTable(table_uri).version()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """One driver's view of a sink: it has subtasks write, and commits what they prepare."""

    sink: DeltaSink
    identity: SinkIdentity = JOB
    attempt: int = 1

    def prepared(self, checkpoint_id: int, records: list[Any], subtask: int = 0) -> list[DataFile]:
        """Have a subtask write records and prepare them for the checkpoint."""
        writer = self.sink.writer(sink_context(self.identity, subtask, self.attempt))
        writer.write(records)
        prepared = writer.prepare_commit(CheckpointId(checkpoint_id))
        writer.close()
        return prepared

    def commit(self, checkpoint_id: int, files: list[DataFile]) -> None:
        """Commit what all subtasks have prepared for the checkpoint."""
        self.sink.global_committer().commit(CheckpointId(checkpoint_id), files)
