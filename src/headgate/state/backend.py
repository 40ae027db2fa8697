"""What state backends and those who run them ask of each other."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from headgate.state.files import KeyedState, StateHandle


class StateWriter(Protocol):
    """Takes the files of one subtask's keyed state, for one checkpoint, into storage. Called beside the loop; blocks.

    A name is used once in a checkpoint. A file that is `shared` may be named by later checkpoints, too, and lives for
    as long as one of them is kept. All raise `StorageError`.
    """

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        """Store these bytes; small state that is not shared becomes part of the handle."""
        ...

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        """Store the contents of a local file."""
        ...


class KeyedSnapshot(Protocol):
    """Keyed state as it was at a barrier, still to be walked and written."""

    @property
    def key_groups(self) -> tuple[int, int]:
        """The first and the last key group that it holds."""
        ...

    def advance(self) -> bool:
        """Do a bounded piece, on the loop; return whether nothing that follows can change the snapshot any more.

        Raises `SerializationError`.
        """
        ...

    def store(self, writer: StateWriter) -> KeyedState:
        """Write the files, once `advance` has returned True. Beside the loop; blocks. Raises `StorageError`."""
        ...
