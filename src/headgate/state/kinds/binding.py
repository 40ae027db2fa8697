"""Binding: from a descriptor to the handle of a state, and to how two of its contents are made one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.clock import Clock
from headgate.errors import ProgramError
from headgate.state.keyed.cleanup import IncrementalCleanup
from headgate.state.kinds.handle import State
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.owner import HandleOwner


def bind(
    descriptor: StateDescriptor,
    owner: HandleOwner,
    column: int,
    clock: Clock,
    cleanup: IncrementalCleanup | None = None,
) -> State:
    """Return a new handle of the state, which lies in `column` of the owner's cells.

    With a time to live, `clock` tells the time, and `cleanup` goes on with each access.
    """
    kind = descriptor.kind
    if descriptor.ttl is None:
        return kind.handle(descriptor, owner, column)
    return kind.expiring(descriptor, owner, column, Lifetime(descriptor.ttl, clock, cleanup))


def merged(descriptor: StateDescriptor, target: Any | None, sources: Sequence[Any | None], now_ms: int) -> Any | None:
    """Return the stored form of several namespaces' content, made one: the sources in order, then they to the target.

    None is no content. Changes nothing, except for accumulators that an aggregate function changes in its `merge`.
    Where two accumulators are merged, one that has expired by `now_ms` is left out. Raises `ProgramError` for kinds
    that cannot be merged, and what the program's functions raise.
    """
    kind = descriptor.kind
    if kind.merge is None:
        raise ProgramError(
            f"{kind.name} state {descriptor.name!r} cannot be merged, which session windows need; use a list, "
            "reducing or aggregating state there"
        )
    return kind.merge(descriptor, target, [content for content in sources if content is not None], now_ms)
