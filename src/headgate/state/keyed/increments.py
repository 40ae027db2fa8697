"""Increments: on what a snapshot of keyed state builds, so that it holds only what has changed.

A *line* is a snapshot in storage that later ones may build on: a base and a log of deltas, as of the end of an epoch.
It comes from the last checkpoint that was confirmed, or from one that was restored; with a changelog, also from a
materialisation, whose files belong to no checkpoint yet.

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
"""Later than any epoch."""

LOG_FILES_MAX: Final = 64
"""A longer log makes a restore slow: the next snapshot is a whole one."""


@final
@dataclass(frozen=True, slots=True)
class Line:
    """A stored state as of the end of an epoch."""

    epoch: int
    state: KeyedState

    @property
    def is_worn(self) -> bool:
        """Whether the log has grown so long that it is time for a new base."""
        return len(self.state.log) >= LOG_FILES_MAX or _bytes_of(self.state.log) > _bytes_of(self.state.base)

    def then(self, epoch: int, file: StateFile) -> Line:
        """Return the line with another delta."""
        return Line(epoch, replace(self.state, log=(*self.state.log, file)))


class Stored(Protocol):
    """A snapshot that becomes a line once it is in storage."""

    epoch: int
    """The epoch at whose end it was taken."""

    stored: Line | None


@final
class Increments:
    """Keeps the line that the next snapshot builds on."""

    def __init__(self) -> None:
        self.line: Line | None = None
        self._begun: dict[CheckpointId, Stored] = {}
        self._base_epoch: int | None = None

    @property
    def since(self) -> int:
        """The epoch up to whose end everything is in the line; -1 without one."""
        return -1 if self.line is None else self.line.epoch

    @property
    def kept_since(self) -> int:
        """The epoch after which changes have to be kept, `NOTHING_KEPT` when the next snapshot is a whole one anyway.

        They are those after the line, and after a base that is being written. Without a line, one of the snapshots
        under way may become it.
        """
        bases = [] if self._base_epoch is None else [self._base_epoch]
        lines = [each.epoch for each in self._begun.values()] if self.line is None else [self.line.epoch]
        return min(lines + bases, default=NOTHING_KEPT)

    def begun(self, checkpoint_id: CheckpointId, snapshot: Stored) -> None:
        """A snapshot for the checkpoint is under way."""
        self._begun[checkpoint_id] = snapshot

    def advance(self, line: Line) -> None:
        """A line is in storage: one that was restored, or a delta written ahead.

        A restored one may have files that go with its checkpoint; nothing is built on those.
        """
        if _lasts(line.state):
            self.line = line

    def base_begun(self, epoch: int) -> None:
        """The state as of the end of an epoch is being written ahead of any checkpoint."""
        self._base_epoch = epoch

    def base_written(self, line: Line) -> None:
        """That is done, and the next snapshot builds on it: not on those under way, which have an older base."""
        if self._base_epoch == line.epoch:
            self.line = line
            self._base_epoch = None
            self._begun.clear()

    def base_failed(self) -> None:
        """It could not be written."""
        self._base_epoch = None

    def completed(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint, and so its line, is confirmed; all before it are of no use any more."""
        snapshot = self._begun.get(checkpoint_id)
        confirmed = None if snapshot is None else snapshot.stored
        self._begun = {later: each for later, each in self._begun.items() if later > checkpoint_id}
        if confirmed is not None and confirmed.epoch > self.since and _lasts(confirmed.state):
            self.line = confirmed
            if not confirmed.state.log and self._base_epoch is not None and self._base_epoch < confirmed.epoch:
                self._base_epoch = None  # what is being written ahead is older, and so are the files it uses again

    def aborted(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint, and so its line, will not be there."""
        self._begun.pop(checkpoint_id, None)

    def restart(self) -> None:
        """Build on nothing: the next snapshot is a whole one."""
        self.line = self._base_epoch = None
        self._begun.clear()


def _lasts(state: KeyedState) -> bool:
    """Whether the files may be named by later checkpoints."""
    return all(not isinstance(handle, FileHandle) or handle.is_shared for handle in state.handles())


def _bytes_of(files: tuple[StateFile, ...]) -> int:
    return sum(file.handle.size_bytes for file in files)
