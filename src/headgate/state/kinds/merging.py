"""Merging: combines the contents that a state has in several namespaces, as session windows need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

from headgate.errors import ProgramError
from headgate.state.kinds.forms import Stamped
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.ttl import StateTtlConfig

Combination: TypeAlias = Callable[[Any, Any], Any]


def folded(combine: Combination, target: Any | None, sources: Sequence[Any]) -> Any | None:
    """Return the sources combined in order, and then they with the target. None is no content."""
    if not sources:
        return target
    content = reduce(combine, sources)
    if target is None or content is None:
        return content if target is None else target
    return combine(target, content)


def expiring(combine: Combination, config: StateTtlConfig | None, now_ms: int) -> Combination:
    """Return the combination of stamped values, in which those that have expired by `now_ms` do not count."""
    if config is None:
        return combine
    dead_ms = now_ms - config.get_ttl().to_milliseconds()
    shown = config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp

    def combine_living(one: Stamped | None, other: Stamped | None) -> Stamped | None:
        living = [stamped[1] for stamped in (one, other) if stamped is not None and (shown or stamped[0] > dead_ms)]
        return (now_ms, reduce(combine, living)) if living else None

    return combine_living


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
