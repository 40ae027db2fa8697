"""The contract of sinks, on a Delta table."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pytest

from headgate.connectors.delta import DeltaSink
from headgate.connectors.delta.table import DataFile
from headgate.functions.sink import Committer, GlobalCommitter, Sink, SinkContext, SinkIdentity, SinkWriter
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, SINK_CHECKS, SinkCase, SinkTarget
from headgate.types.row import Row
from tests.delta.tables import SCHEMA, rows_of

Prepared = tuple[CheckpointId, DataFile]
ROWS = Row("number", "word")
RECORDS = [ROWS(number, f"word-{number % 3}") for number in range(16)]


@final
@dataclass
class CommittedBySubtasks(Sink[Prepared]):
    """Has a subtask do what the driver does, as the suite knows subtasks only: oldest checkpoint first."""

    sink: DeltaSink

    def prepare(self, identity: SinkIdentity) -> None:
        self.sink.prepare(identity)

    def discard(self, identity: SinkIdentity) -> None:
        self.sink.discard(identity)

    def release(self, identity: SinkIdentity) -> None:
        self.sink.release(identity)

    def writer(self, context: SinkContext) -> Numbering:
        return Numbering(self.sink.writer(context))

    def committer(self, context: SinkContext) -> Subtask:
        return Subtask(self.sink.global_committer())


@final
@dataclass
class Numbering(SinkWriter[Prepared]):
    writer: SinkWriter[DataFile]

    def write(self, records: list[Any]) -> None:
        self.writer.write(records)

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Prepared]:
        return [(checkpoint_id, file) for file in self.writer.prepare_commit(checkpoint_id)]

    def close(self) -> None:
        self.writer.close()


@final
@dataclass
class Subtask(Committer[Prepared]):
    driver: GlobalCommitter[DataFile]

    def commit(self, committables: list[Prepared]) -> None:
        for checkpoint_id, prepared in itertools.groupby(committables, lambda each: each[0]):
            self.driver.commit(checkpoint_id, [file for _, file in prepared])


def plain(folder: Path) -> DeltaSink:
    return DeltaSink(folder, SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("sink", [plain], ids=lambda case: case.__name__)
def test_sink(sink: Callable[[Path], DeltaSink], check: Callable[[SinkCase], None], tmp_path: Path) -> None:
    numbers = itertools.count()

    def fresh() -> SinkTarget:
        folder = tmp_path / str(next(numbers))
        made = CommittedBySubtasks(sink(folder))
        made.prepare(JOB)
        return SinkTarget(sink=made, read=lambda: [ROWS(*row.values()) for row in rows_of(folder)])

    check(SinkCase(fresh=fresh, records=RECORDS))
