"""A snapshot of cells: the walk that collects the cells, and the file that it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.state.backend import StateWriter
from headgate.state.files import KeyedState, StateFile
from headgate.state.keyed.increments import IncrementBase
from headgate.state.keyed.walk import Walk


@final
@dataclass(frozen=True, slots=True)
class FileTerms:
    """The name of the file of a snapshot, its key groups, and whether later checkpoints may name the file."""

    name: str
    key_groups: tuple[int, int]
    may_be_shared: bool


@final
class CellSnapshot:
    """A snapshot under way. `base` is the base that it builds on, None for a whole snapshot.

    The walks in `older` must end first. A walk that is aborted must be removed from the list.
    """

    def __init__(self, walk: Walk, base: IncrementBase | None, terms: FileTerms, older: list[Walk]) -> None:
        self.walk = walk
        self.base = base
        self.generation = walk.generation
        self.key_groups = terms.key_groups
        self.stored: IncrementBase | None = None
        """The base that this snapshot has become, once it is in storage."""
        self._terms = terms
        self._older = older

    def advance(self) -> bool:
        """Take about a thousand more cells; older walks first. Return whether all are taken.

        Raises `SerializationError`.
        """
        for walk in self._older:
            if walk is self.walk:
                break
            if not walk.advance():
                return False
        return self.walk.advance()

    def store(self, writer: StateWriter) -> KeyedState:
        """Write the file and return its description. Blocks. Raises `StorageError`."""
        pieces = self.walk.finish()
        name = f"{'base' if self.base is None else 'delta'}-{self._terms.name}"
        file = StateFile(name, writer.write(name, pieces, shared=self._terms.may_be_shared))
        if self.base is None:
            state = KeyedState(key_groups=self.key_groups, kind="entries", base=(file,))
            self.stored = IncrementBase(self.generation, state)
        else:
            self.stored = self.base.then(self.generation, file)
        return self.stored.state
