"""Faults planted in a sink, each of which a check of the contract finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headgate.functions.sink import Committer, Sink, SinkContext, SinkIdentity, SinkWriter
from headgate.ids import CheckpointId
from headgate.testing.contracts import sink as contract
from headgate.testing.contracts.sink import SinkCase, SinkTarget
from tests.power import Disks

RECORDS = [f"record-{index}" for index in range(14)]


class Committing(Committer[Path]):
    """Renames hidden files, as it should."""

    def __init__(self, folder: Path, context: SinkContext) -> None:
        self.folder = folder
        self.stem = f".{context.digest()}-{context.subtask}-"

    def commit(self, committables: list[Path]) -> None:
        for path in committables:
            if path.exists():
                path.rename(path.with_name(path.name[1:]))

    def recover(self, restored: list[Path]) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith(self.stem) and path not in restored and not self.mark(path).exists():
                path.unlink()

    def keep(self, committables: list[Path], savepoint: str) -> None:
        for path in committables:
            self.mark(path).touch()

    def mark(self, path: Path) -> Path:
        return path.with_name(f".kept{path.name}")


class KeepingNothing(Committing):
    def keep(self, committables: list[Path], savepoint: str) -> None:
        """As a sink does that has not thought of savepoints."""


class CommittingOnce(Committing):
    def commit(self, committables: list[Path]) -> None:
        for path in committables:
            path.rename(path.with_name(path.name[1:]))


class CommittingAlways(Committing):
    def commit(self, committables: list[Path]) -> None:
        for path in committables:
            text = path.read_text() if path.exists() else "again\n"
            with path.with_name(path.name[1:]).open("a") as stream:
                stream.write(text)


class RecoveringTooMuch(Committing):
    def recover(self, restored: list[Path]) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith("."):
                path.unlink()


class RecoveringOthers(Committing):
    def recover(self, restored: list[Path]) -> None:
        for path in self.folder.iterdir():
            if path not in restored:
                path.unlink()


class Writing(SinkWriter[Path]):
    """Keeps records until the checkpoint and writes them to a hidden file, as it should."""

    def __init__(self, folder: Path, context: SinkContext) -> None:
        self.folder = folder
        self.stem = f".{context.digest()}-{context.subtask}-{context.execution}"
        self.records: list[Any] = []
        self.count = 0

    def write(self, records: list[Any]) -> None:
        self.records += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Path]:
        if not self.records:
            return []
        self.count += 1
        path = self.folder / f"{self.stem}-{self.count}"
        path.write_text("".join(f"{record}\n" for record in self.records))
        self.records = []
        return [path]


class WritingInTheOpen(Writing):
    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Path]:
        for path in (prepared := super().prepare_commit(checkpoint_id)):
            path.rename(path.with_name(path.name[1:]))
        return prepared


class WritingWithoutAttempt(Writing):
    def __init__(self, folder: Path, context: SinkContext) -> None:
        super().__init__(folder, context)
        self.stem = f".{context.digest()}-{context.subtask}"


class WritingWithoutLineage(Writing):
    def __init__(self, folder: Path, context: SinkContext) -> None:
        super().__init__(folder, context)
        self.stem = f".{context.job_id}-{context.subtask}-{context.execution}"


class WritingWithoutDriver(Writing):
    def __init__(self, folder: Path, context: SinkContext) -> None:
        super().__init__(folder, context)
        self.stem = f".{context.digest()}-{context.subtask}-{context.attempt}"


class WritingOnClose(Writing):
    def close(self) -> None:
        for path in self.prepare_commit(CheckpointId(0)):
            path.rename(path.with_name(path.name[1:]))


@dataclass
class PlantedSink(Sink[Path]):
    folder: Path
    writer_class: type[Writing] = Writing
    committer_class: type[Committing] = Committing

    def prepare(self, identity: SinkIdentity) -> None:
        """Nobody else is there."""

    def writer(self, context: SinkContext) -> Writing:
        return self.writer_class(self.folder, context)

    def committer(self, context: SinkContext) -> Committing:
        return self.committer_class(self.folder, context)


def case(root: Path, *parts: Any) -> SinkCase:
    numbers = iter(range(1_000_000))

    def fresh() -> SinkTarget:
        folder = root / str(next(numbers))
        folder.mkdir()
        return SinkTarget(sink=PlantedSink(folder, *parts), read=lambda: seen(folder))

    return SinkCase(fresh=fresh, records=RECORDS)


def seen(folder: Path) -> list[str]:
    files = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return [line for path in files for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("parts", "check"),
    [
        ((Writing, CommittingOnce), contract.check_commits_may_be_repeated),
        ((Writing, CommittingAlways), contract.check_commits_may_be_repeated),
        ((Writing, RecoveringTooMuch), contract.check_stops_at_any_point_give_each_record_once),
        ((Writing, KeepingNothing), contract.check_what_a_savepoint_holds_stays),
        ((Writing, RecoveringOthers), contract.check_what_others_wrote_stays),
        ((WritingInTheOpen, Committing), contract.check_nothing_is_seen_before_it_is_committed),
        ((WritingWithoutAttempt, Committing), contract.check_stops_at_any_point_give_each_record_once),
        (
            (WritingWithoutLineage, Committing),
            contract.check_the_same_job_id_with_other_storage_writes_all_its_records,
        ),
        ((WritingWithoutDriver, Committing), contract.check_a_job_back_from_a_backup_writes_all_its_records),
        ((WritingOnClose, Committing), contract.check_closing_drops_what_is_not_prepared),
    ],
)
@pytest.mark.slow
def test_fault_is_found(parts: tuple[Any, ...], check: Callable[[SinkCase], None], tmp_path: Path) -> None:
    with pytest.raises((AssertionError, OSError)):
        check(case(tmp_path, *parts))


@pytest.mark.parametrize(
    "check",
    [contract.check_a_loss_of_power_loses_no_record, contract.check_a_loss_of_power_takes_nothing_from_a_savepoint],
)
def test_a_sink_that_syncs_nothing_is_found(check: Callable[[SinkCase], None], tmp_path: Path) -> None:
    with Disks(tmp_path) as disks, pytest.raises(AssertionError):
        check(case_on(disks))


def case_on(disks: Disks) -> SinkCase:
    def fresh() -> SinkTarget:
        folder = Path(disks.new())
        return SinkTarget(sink=PlantedSink(folder), read=lambda: seen(folder), lose_power=disks.newest.lose_power)

    return SinkCase(fresh=fresh, records=RECORDS)


@pytest.mark.parametrize("check", contract.SINK_CHECKS)
def test_sink_without_fault_passes(check: Callable[[SinkCase], None], tmp_path: Path) -> None:
    check(case(tmp_path))
