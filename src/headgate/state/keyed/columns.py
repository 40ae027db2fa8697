"""Columns: the index in cells of each state, and the conversion of restored values to the declared state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, final

from headgate.errors import ProgramError, RestoreError
from headgate.state.formats.schema import Convert, Incompatible, Migrate, Same, StateMeta, compatibility
from headgate.state.keyed.cells import FIRST
from headgate.state.kinds.handle import State
from headgate.state.kinds.kind import StateDescriptor

ExpiryFilter: TypeAlias = Callable[[Any, int], Any]
"""Returns the part of stored content that has not expired at a time in ms, None for nothing."""


def meta_of(descriptor: StateDescriptor, *, namespaced: bool = False) -> StateMeta:
    """Return the description that snapshots store of a declared state."""
    return StateMeta(
        descriptor.name, descriptor.kind.name, descriptor.type_info, descriptor.ttl is not None, namespaced=namespaced
    )


def snapshot_filter(descriptor: StateDescriptor) -> ExpiryFilter | None:
    """Return the function that removes expired values from a whole snapshot, None if snapshots keep them."""
    ttl = descriptor.ttl
    if ttl is None or not ttl.get_cleanup_strategies().in_full_snapshot():
        return None
    living, ttl_ms = descriptor.kind.form.living, ttl.get_ttl().to_milliseconds()
    return lambda stored, now_ms: living(stored, now_ms - ttl_ms)


@final
class StateColumns:
    """The states of a backend, restored or declared, in the order of their columns."""

    def __init__(self) -> None:
        self.metas: list[StateMeta] = []
        self._handles: dict[str, State | None] = {}
        self._index: dict[str, int] = {}

    def index(self, name: str) -> int | None:
        """Return the column of a state, None if the state is unknown."""
        return self._index.get(name)

    def restored(self, meta: StateMeta) -> tuple[int, bool]:
        """Return the column of a restored state, and whether the column is new.

        Raises `RestoreError` if another subtask saved a part of the state with another description.
        """
        column = self._index.get(meta.name)
        if column is None:
            return self._add(meta), True
        other = self.metas[column - FIRST]
        alike = compatibility(other, meta) == Same() or compatibility(meta, other) == Same()
        if meta.ttl != other.ttl or not alike:
            raise RestoreError(
                f"state {meta.name!r} was saved as {other.describe()} by one subtask and as {meta.describe()} by "
                "another, as not all had declared it again: declare it in open(), restore at the parallelism of the "
                "checkpoint, and change the parallelism with the next one"
            )
        return column, False

    def _add(self, meta: StateMeta) -> int:
        column = FIRST + len(self.metas)
        self._index[meta.name] = column
        self.metas.append(meta)
        return column

    def handle(self, meta: StateMeta) -> State | None:
        """Return the handle of a declared state, None if it has not been declared yet.

        Raises `ProgramError` if it was declared with another description.
        """
        if meta.name not in self._handles:
            return None
        known = self.metas[self._index[meta.name] - FIRST]
        if known != meta:
            raise ProgramError(
                f"state {meta.name!r} is declared twice, as {known.describe()} and as {meta.describe()}: "
                "give one of them another name"
            )
        return self._handles[meta.name]

    def declare(self, meta: StateMeta, now_ms: int) -> tuple[int, bool, Convert | None]:
        """Return the column of a state, whether the column is new, and the conversion of its restored values, if any.

        Raises `RestoreError` if the restored values cannot be converted.
        """
        column = self._index.get(meta.name)
        if column is None:
            return self._add(meta), True, None
        restored = self.metas[column - FIRST]
        self.metas[column - FIRST] = meta
        return column, False, conversion(restored, meta, now_ms)

    def keep(self, meta: StateMeta, handle: State | None) -> None:
        """Remember the handle of a declared state."""
        self._handles[meta.name] = handle


def conversion(old: StateMeta, new: StateMeta, now_ms: int) -> Convert | None:
    """Return the function that converts saved values to values of the declared state, None if they are the same.

    Values that get a time to live count as accessed at `now_ms`. Raises `RestoreError` if the values cannot be
    converted.
    """
    answer = compatibility(old, new)
    steps: list[Callable[[Any], Any]] = []
    match answer:
        case Incompatible():
            raise RestoreError(answer.reason)
        case Migrate():
            steps.append(answer.convert)
    if new.ttl and not old.ttl:
        steps.append(lambda stored: new.form.with_ttl(stored, now_ms))
    elif old.ttl and not new.ttl:
        steps.append(new.form.without_ttl)
    if not steps:
        return None

    def convert(stored: Any) -> Any:
        for step in steps:
            stored = step(stored)
        return stored

    return convert
