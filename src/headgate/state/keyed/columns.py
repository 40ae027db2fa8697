"""Columns: which state lies at which index of a cell, and what a restored state has to become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, final

from headgate.errors import ProgramError, RestoreError
from headgate.state.formats.schema import Convert, Incompatible, Migrate, Same, StateMeta, compatibility
from headgate.state.keyed.cells import FIRST
from headgate.state.kinds.handle import State
from headgate.state.kinds.kind import StateDescriptor

ExpiryFilter: TypeAlias = Callable[[Any, int], Any]
"""Returns what is left of stored content at a given time, None for nothing."""


def meta_of(descriptor: StateDescriptor, *, namespaced: bool = False) -> StateMeta:
    """Return what a snapshot is to know of a state that is declared so."""
    return StateMeta(
        descriptor.name, descriptor.kind.name, descriptor.type_info, descriptor.ttl is not None, namespaced=namespaced
    )


def snapshot_filter(descriptor: StateDescriptor) -> ExpiryFilter | None:
    """Return what leaves expired values out of a whole snapshot at a given time, None when nothing is to."""
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
        """Return the column of a state, None when there is none of this name."""
        return self._index.get(name)

    def restored(self, meta: StateMeta) -> tuple[int, bool]:
        """Return the column of a state of a snapshot, and whether it is a new one.

        Raises `RestoreError` when another part of the state, of another subtask, was saved as something else.
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
        """Return the handle of a declared state, None when it is declared for the first time.

        Raises `ProgramError` when it was declared otherwise before.
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
        """Return the column of a state, whether it is a new one, and what to do to its restored values.

        Raises `RestoreError` when the restored state cannot become the declared one.
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
    """Return what makes values of a column, as they were saved, those of the state as declared; None for nothing.

    Values that get a time to live count as accessed at `now_ms`. Raises `RestoreError`.
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
