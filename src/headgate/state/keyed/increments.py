"""Increments: the base that the next snapshot of keyed state builds on, so that it holds only what changed since.

An *increment base* is a stored snapshot that later snapshots may build on: a whole snapshot and a log of deltas, as of
the end of a generation. Its files must outlive the snapshots that name them. So a base comes from the last confirmed
checkpoint, or from a checkpoint that was restored with the same key groups. With a changelog it may also be a
materialization, whose files belong to no checkpoint yet.

With a changelog, the backend writes parts of the log ahead of the barrier, and the checkpoint writes only the tail.
Nothing else differs: files have the same format and are combined in the same way.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Final, Protocol, final

from headgate.ids import CheckpointId
from headgate.state.files import FileHandle, KeyedState, StateFile

NOTHING_KEPT: Final = sys.maxsize
"""Later than any generation."""

LOG_FILES_MAX: Final = 64
"""The number of files in a log from which the next snapshot is a whole one: a longer log makes a restore slow."""


@final
@dataclass(frozen=True, slots=True)
class IncrementBase:
    """A stored state as of the end of a generation: `state.base` and the deltas of `state.log`."""

    generation: int
    state: KeyedState

    @property
    def has_long_log(self) -> bool:
        """Whether the log is so long that the next snapshot should be a whole one."""
        return len(self.state.log) >= LOG_FILES_MAX or _bytes_of(self.state.log) > _bytes_of(self.state.base)

    def then(self, generation: int, file: StateFile) -> IncrementBase:
        """Return this base with one more delta."""
        return IncrementBase(generation, replace(self.state, log=(*self.state.log, file)))


class PendingBase(Protocol):
    """A snapshot that becomes a base once it is in storage."""

    generation: int
    """The generation at whose end the snapshot was taken."""

    stored: IncrementBase | None


@final
class Increments:
    """Keeps the base of the next snapshot."""

    def __init__(self) -> None:
        self.base: IncrementBase | None = None
        self._begun: dict[CheckpointId, PendingBase] = {}
        self._whole_generation: int | None = None

    @property
    def since(self) -> int:
        """The last generation whose changes are in the base; -1 without a base."""
        return -1 if self.base is None else self.base.generation

    @property
    def kept_since(self) -> int:
        """The generation after which changes must be kept; `NOTHING_KEPT` if the next snapshot is a whole one.

        Later snapshots need the changes after the base, and the changes after a whole state that is being written.
        Without a base, each snapshot under way may become the base.
        """
        written = [] if self._whole_generation is None else [self._whole_generation]
        bases = [each.generation for each in self._begun.values()] if self.base is None else [self.base.generation]
        return min(bases + written, default=NOTHING_KEPT)

    def begun(self, checkpoint_id: CheckpointId, snapshot: PendingBase) -> None:
        """Note that a snapshot for the checkpoint is under way."""
        self._begun[checkpoint_id] = snapshot

    def advance(self, base: IncrementBase) -> None:
        """Use a base that is in storage: a restored one, or one with a delta written ahead.

        A restored base may have files that are deleted with its checkpoint. Such a base is ignored.
        """
        if _lasts(base.state):
            self.base = base

    def whole_begun(self, generation: int) -> None:
        """Note that the whole state as of the end of a generation is being written ahead of any checkpoint."""
        self._whole_generation = generation

    def whole_written(self, base: IncrementBase) -> None:
        """Use the whole state that was written ahead as the base.

        Snapshots under way have an older base, so they never become the base.
        """
        if self._whole_generation == base.generation:
            self.base = base
            self._whole_generation = None
            self._begun.clear()

    def whole_failed(self) -> None:
        """Note that the whole state could not be written ahead."""
        self._whole_generation = None

    def completed(self, checkpoint_id: CheckpointId) -> None:
        """Use the snapshot of the completed checkpoint as the base, and forget the snapshots of earlier checkpoints."""
        snapshot = self._begun.get(checkpoint_id)
        confirmed = None if snapshot is None else snapshot.stored
        self._begun = {later: each for later, each in self._begun.items() if later > checkpoint_id}
        if confirmed is not None and confirmed.generation > self.since and _lasts(confirmed.state):
            self.base = confirmed
            if (
                not confirmed.state.log
                and self._whole_generation is not None
                and self._whole_generation < confirmed.generation
            ):
                # The whole state that is being written ahead is older than the new base.
                self._whole_generation = None

    def aborted(self, checkpoint_id: CheckpointId) -> None:
        """Forget the snapshot of the aborted checkpoint."""
        self._begun.pop(checkpoint_id, None)

    def restart(self) -> None:
        """Drop the base: the next snapshot is a whole one."""
        self.base = self._whole_generation = None
        self._begun.clear()


def _lasts(state: KeyedState) -> bool:
    """Return whether later checkpoints may name all files of the state."""
    return all(not isinstance(handle, FileHandle) or handle.is_shared for handle in state.handles())


def _bytes_of(files: tuple[StateFile, ...]) -> int:
    return sum(file.handle.size_bytes for file in files)
