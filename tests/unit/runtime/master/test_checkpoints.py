"""The checkpoints of a running job: what their manifests say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.handles import ListStateHandle, OperatorState, SubtaskState
from headgate.checkpoint.manifest import Manifest, decode
from headgate.checkpoint.messages import CheckpointMessage, SubtaskAcked
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.graph.job_graph import JobGraph
from headgate.ids import CheckpointId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.runtime.control.messages import CheckpointAborted
from headgate.runtime.job_storage.clean_up import CleanUp
from headgate.state.files import FileHandle
from headgate.state.operator.list_elements import ListMode
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import line_plan

SETTINGS = {"execution.checkpointing.interval": "50 ms", "restart-strategy.exponential-delay.initial-backoff": "20 ms"}


def test_a_checkpoint_that_builds_on_a_file_which_may_be_gone_is_given_up_and_the_next_one_is_not() -> None:
    settings = {**SETTINGS, "execution.checkpointing.tolerable-failed-checkpoints": "1"}
    source = RateLimitedSource(NumberSequenceSource(1, 40), 100)
    rig = MasterRig(line_plan(source, CollectFactory(), settings=settings))
    rig.master.submit()
    rig.run_until(lambda: rig.master.progress.checkpoints)
    complete = rig.master.progress.checkpoints[-1].checkpoint_id
    acked = rig.master._checkpoints.received

    def built_on_sand(message: CheckpointMessage) -> None:
        if isinstance(message, SubtaskAcked) and message.checkpoint_id == complete + 1:
            handle = FileHandle(f"shared/{complete}-a1-op0-0-never", 1, 1)
            lists = {"splits": ListStateHandle(ListMode.SPLIT, handle)}
            message = replace(message, state=SubtaskState(operators=(OperatorState(uid="op0", lists=lists),)))
        acked(message)

    rig.master._checkpoints.received = built_on_sand  # type: ignore[method-assign]
    assert rig.end().status is JobStatus.FINISHED
    ids = [figures.checkpoint_id for figures in rig.master.progress.checkpoints]
    assert complete + 1 not in ids
    assert complete + 2 in ids
    aborts = [message for message in rig.links[0].told if isinstance(message, CheckpointAborted)]
    assert [(message.checkpoint_id, message.completed) for message in aborts] == [(complete + 1, complete)]


def test_clean_up_that_takes_long_is_done_one_after_the_other_and_only_what_is_due_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = RateLimitedSource(NumberSequenceSource(1, 100), 100)
    rig = MasterRig(line_plan(source, CollectFactory(), settings=SETTINGS))
    begun: list[tuple[CheckpointId, ...]] = []
    slow: list[Callable[[], None]] = []
    submit = rig.io.submit

    def submit_slow(work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        seen = len(begun)

        def done_later(result: Any) -> None:
            if len(begun) > seen:
                slow.append(lambda: done(result))
            else:
                done(result)

        submit(work, done_later)

    monkeypatch.setattr(CleanUp, "retain", lambda self, plan, keep, shared: begun.append(keep))
    rig.io.submit = submit_slow  # type: ignore[method-assign]
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) == 6)
    first, sixth = (rig.master.progress.checkpoints[at].checkpoint_id for at in (0, 5))
    assert begun == [(first,)]
    slow.pop()()
    rig.run_until(lambda: len(begun) > 1)
    assert begun == [(first,), (sixth,)]


def test_a_job_does_not_end_before_the_checkpoints_that_it_does_not_retain_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    retained = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}
    source = RateLimitedSource(NumberSequenceSource(1, 100), 100)
    rig = MasterRig(line_plan(source, CollectFactory(), settings={**SETTINGS, **retained}))
    slow: list[Callable[[], None]] = []
    retain, submit = CleanUp.retain, rig.io.submit
    begun: list[tuple[CheckpointId, ...]] = []

    def retain_noted(self: CleanUp, plan: JobGraph, keep: tuple[CheckpointId, ...], shared: SharedFiles) -> None:
        begun.append(keep)
        retain(self, plan, keep, shared)

    def submit_slow(work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        seen = len(begun)

        def done_later(result: Any) -> None:
            if seen == 0 and begun and not slow:
                slow.append(lambda: done(result))
            else:
                done(result)

        submit(work, done_later)

    monkeypatch.setattr(CleanUp, "retain", retain_noted)
    rig.io.submit = submit_slow  # type: ignore[method-assign]
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) == 3)
    rig.master.cancel()
    rig.run_until(lambda: not rig.slots)
    while rig.turn():
        pass
    assert rig.master.outcome is None
    slow[0]()
    assert rig.end().status is JobStatus.CANCELED
    kept = [path for path in rig.store.files if path.endswith(paths.METADATA)]
    assert kept == [paths.metadata(CheckpointId(rig.master.progress.checkpoints[-1].checkpoint_id))]


def test_a_manifest_names_the_completed_checkpoint_before_it_also_across_a_restart() -> None:
    source = RateLimitedSource(NumberSequenceSource(1, 100), 100)
    rig = MasterRig(line_plan(source, CollectFactory(), settings=SETTINGS))
    written: list[Manifest] = []
    write = rig.store.write

    def watched(path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> FileHandle:
        data = b"".join(chunks)
        if path.endswith(paths.METADATA):
            written.append(decode(data, path))
        return write(path, [data])

    rig.store.write = watched  # type: ignore[method-assign]
    rig.master.submit()
    rig.run_until(lambda: len(written) == 5)
    rig.end_launch(1, "the stage was killed")
    assert rig.end().status is JobStatus.FINISHED
    assert {manifest.attempt for manifest in written} == {1, 2}
    before = [None, *[manifest.checkpoint_id for manifest in written]]
    assert [manifest.parent for manifest in written] == before[:-1]
