"""S34: files that checkpoints share live as long as one of them needs them, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from headgate.common import Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext
from headgate.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.datastream.state import ValueStateDescriptor
from headgate.state.files import SHARED
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import Runs, on_incremental_backends

COUNT = 1200


@on_incremental_backends
def test_checkpoints_share_what_has_not_changed_and_all_that_the_kept_one_names_is_there(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **backend)
    env = runs.environment(1)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env, checkpoints=8)
    [named] = [manifest.files() for manifest in runs.manifests()]  # of eight, one is retained
    assert any(path.startswith(f"{SHARED}/") and f"/{runs.latest}-" not in path for path in named)
    assert runs.missing() == []
    env = runs.environment(1)
    ledger.seen_of(ledger.written(env, COUNT, burst=COUNT))
    runs.finish(env)
    ledger.check_seen(1, COUNT)


class Fault:
    """A value whose first pickling after `arm` fails, and what came of it."""

    armed = False
    aborted: ClassVar[list[int]] = []
    restored: ClassVar[list[int | None]] = []

    def __reduce__(self) -> Any:
        if Fault.armed and not Fault.aborted:
            raise ValueError("planned")
        return Fault, ()


class Head(KeyedProcessFunction, CheckpointedFunction, CheckpointListener):
    """Spoils a checkpoint once there are some that build on each other, and fails right after it."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        Fault.restored.append(context.get_restored_checkpoint_id())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """It has no state but that of its keys."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("fault", Types.PICKLED_BYTE_ARRAY()))
        self.fails = False

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        Fault.armed = checkpoint_id >= 4

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.fails = not Fault.aborted
        Fault.aborted.append(checkpoint_id)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        if self.fails:
            HURRY.set()
            raise ValueError("planned")
        self.state.update(Fault())
        yield value


@on_incremental_backends
def test_a_checkpoint_that_failed_takes_no_file_along_that_an_earlier_one_needs(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail of two keyed operators has stored its part of a checkpoint when the head fails at its own."""
    tolerant = {"execution.checkpointing.tolerable-failed-checkpoints": "1"}
    runs = Runs(tmp_path, monkeypatch, **backend, **tolerant)
    Fault.armed = False
    Fault.aborted.clear()
    Fault.restored.clear()
    env = runs.environment(1)
    through_head = ledger.numbers(env, 4 * COUNT, ledger.BURST).key_by(ledger.key_of).process(Head()).uid("head")
    ledger.seen_of(through_head.key_by(ledger.key_of).process(ledger.Ledger()).uid("ledger"))
    runs.finish(env)
    first, then = Fault.restored
    assert first is None
    assert then is not None
    assert then >= 4
    assert then not in Fault.aborted
    assert Fault.aborted != []
    ledger.check_seen(1, 4 * COUNT)
