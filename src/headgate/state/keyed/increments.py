"""Increments: on what a snapshot of keyed state builds, so that it holds only what has changed.

An *increment base* is a snapshot in storage that later ones may build on: a whole snapshot and a log of deltas, as of
the end of a generation. It must be certain that it stays: it comes from the last checkpoint that was confirmed, or from
one that was restored at the same key groups; with a changelog, also from a materialisation, whose files belong to no
checkpoint yet.

With a changelog, parts of the log are written ahead of the barrier (`ahead`), so that the checkpoint has to write only
the tail. That is the only difference: the files and how they are put together are the same.
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
"""A longer log makes a restore slow: the next snapshot is a whole one."""


@final
@dataclass(frozen=True, slots=True)
class IncrementBase:
    """A stored state as of the end of a generation: `state.base`, and the deltas of `state.log`."""

    generation: int
    state: KeyedState

    @property
    def is_worn(self) -> bool:
        """Whether the log has grown so long that it is time for a new base."""
        return len(self.state.log) >= LOG_FILES_MAX or _bytes_of(self.state.log) > _bytes_of(self.state.base)

    def then(self, generation: int, file: StateFile) -> IncrementBase:
        """Return the base with another delta."""
        return IncrementBase(generation, replace(self.state, log=(*self.state.log, file)))


class PendingBase(Protocol):
    """A snapshot that becomes a base once it is in storage."""

    generation: int
    """The generation at whose end it was taken."""

    stored: IncrementBase | None


@final
class Increments:
    """Keeps the base that the next snapshot builds on."""

    def __init__(self) -> None:
        self.base: IncrementBase | None = None
        self._begun: dict[CheckpointId, PendingBase] = {}
        self._whole_generation: int | None = None

    @property
    def since(self) -> int:
        """The generation up to whose end everything is in the base; -1 without one."""
        return -1 if self.base is None else self.base.generation

    @property
    def kept_since(self) -> int:
        """The generation after which changes have to be kept; `NOTHING_KEPT` when the next snapshot is a whole one.

        They are those after the base, and after a whole state that is being written. Without a base, one of the
        snapshots under way may become it.
        """
        written = [] if self._whole_generation is None else [self._whole_generation]
        bases = [each.generation for each in self._begun.values()] if self.base is None else [self.base.generation]
        return min(bases + written, default=NOTHING_KEPT)

    def begun(self, checkpoint_id: CheckpointId, snapshot: PendingBase) -> None:
        """A snapshot for the checkpoint is under way."""
        self._begun[checkpoint_id] = snapshot

    def advance(self, base: IncrementBase) -> None:
        """A base is in storage: one that was restored, or a delta written ahead.

        A restored one may have files that go with its checkpoint; nothing is built on those.
        """
        if _lasts(base.state):
            self.base = base

    def whole_begun(self, generation: int) -> None:
        """The whole state as of the end of a generation is being written ahead of any checkpoint."""
        self._whole_generation = generation

    def whole_written(self, base: IncrementBase) -> None:
        """That is done, and the next snapshot builds on it: not on those under way, which have an older base."""
        if self._whole_generation == base.generation:
            self.base = base
            self._whole_generation = None
            self._begun.clear()

    def whole_failed(self) -> None:
        """It could not be written."""
        self._whole_generation = None

    def completed(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint, and so its base, is confirmed; all before it are of no use any more."""
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
                self._whole_generation = (
                    None  # what is being written ahead is older, and so are the files it uses again
                )

    def aborted(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint, and so its base, will not be there."""
        self._begun.pop(checkpoint_id, None)

    def restart(self) -> None:
        """Build on nothing: the next snapshot is a whole one."""
        self.base = self._whole_generation = None
        self._begun.clear()


def _lasts(state: KeyedState) -> bool:
    """Whether the files may be named by later checkpoints."""
    return all(not isinstance(handle, FileHandle) or handle.is_shared for handle in state.handles())


def _bytes_of(files: tuple[StateFile, ...]) -> int:
    return sum(file.handle.size_bytes for file in files)
