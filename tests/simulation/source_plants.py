"""Faults to plant in discovery, in readers that fetch, and in commits of all subtasks together; see `plants`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import compress
from typing import Any

import pytest

from headgate.checkpoint.coordination import vocabulary as coordination
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.restore.splits import KNOWN_STATE, ORDINALS_STATE, SPLITS_STATE
from headgate.checkpoint.store import CheckpointStore
from headgate.elements import Barrier
from headgate.functions.fetching import FetchingReader
from headgate.operators.base import OperatorSnapshot
from headgate.operators.source import SourceOperator
from headgate.runtime.job_storage import job_storage, sink_commits
from headgate.runtime.job_storage.lease import Outcome
from headgate.runtime.job_storage.sink_commits import SinkCommits
from headgate.runtime.master.assembly import manifest_of
from headgate.runtime.master.checkpoints import Checkpoints
from headgate.state.operator.list_elements import ListElements


def split_known_but_not_kept(patch: pytest.MonkeyPatch) -> None:
    """A split assigned just before the barrier counts as known, but is not in the state."""
    add_splits, snapshot = SourceOperator.add_splits, SourceOperator.snapshot
    newest: dict[int, list[Any]] = {}

    def add(self: SourceOperator, splits: list[tuple[int, Any]]) -> None:
        add_splits(self, splits)
        newest[id(self)] = [split for _, split in splits] if self.woken and self._given_more and self._positions else []

    def without_the_newest(self: SourceOperator, barrier: Barrier) -> OperatorSnapshot:
        taken = snapshot(self, barrier)
        late = {self._source.split_id(split) for split in newest.pop(id(self), [])}
        if late:
            kept = [self._source.split_id(split) not in late for split in self._positions[barrier.checkpoint_id]]
            for name in {SPLITS_STATE, ORDINALS_STATE} & taken.lists.keys():
                taken.lists[name] = ListElements(elements=list(compress(taken.lists[name].elements, kept)))
        return taken

    patch.setattr(SourceOperator, "add_splits", add)
    patch.setattr(SourceOperator, "snapshot", without_the_newest)


def known_splits_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A checkpoint does not contain the ids of assigned splits."""
    snapshot = SourceOperator.snapshot

    def forgetful(self: SourceOperator, barrier: Barrier) -> OperatorSnapshot:
        taken = snapshot(self, barrier)
        taken.lists.pop(KNOWN_STATE, None)
        return taken

    patch.setattr(SourceOperator, "snapshot", forgetful)


def position_of_what_was_fetched(patch: pytest.MonkeyPatch) -> None:
    """The position of a fetching reader includes records that it has fetched but not emitted."""

    def fetched_position(self: FetchingReader[Any]) -> list[Any]:
        fetched = [queued.fetched for queued in self._queue]
        ahead = {each.split: None if each.ended else each.after(len(each.records)) for each in fetched}
        return [split for split in {**self._positions, **ahead}.values() if split is not None]

    patch.setattr(FetchingReader, "snapshot", fetched_position)


def global_commit_before_the_manifest(patch: pytest.MonkeyPatch) -> None:
    """The commit for all subtasks is made after the acknowledgements, but before the manifest is written."""
    store_manifest = Checkpoints._store_manifest

    def commit_first(self: Checkpoints, order: coordination.StoreManifest) -> None:
        manifest = manifest_of(self._plan, self._placement, order, self.latest)
        if order.savepoint is None:
            parts = self._storage._parts
            assert parts.sinks is not None
            parts.sink_owner.submit(partial(parts.sinks.commit, parts.store, manifest), lambda _: None)
        store_manifest(self, order)

    patch.setattr(Checkpoints, "_store_manifest", commit_first)


def global_commit_skipped_at_a_restore(patch: pytest.MonkeyPatch) -> None:
    """The commit for all subtasks of a restored checkpoint counts as made."""
    commit, attempt_commit = SinkCommits.commit, sink_commits.attempt_commit
    attempted: list[object] = []

    def of_a_new_checkpoint(attempt: Callable[[], Outcome]) -> Outcome:
        attempted.append(attempt)
        try:
            return attempt_commit(attempt)
        finally:
            attempted.pop()

    def only_if_new(self: SinkCommits, store: CheckpointStore, manifest: Manifest) -> None:
        if attempted:
            commit(self, store, manifest)

    patch.setattr(SinkCommits, "commit", only_if_new)
    patch.setattr(job_storage, "attempt_commit", of_a_new_checkpoint)
