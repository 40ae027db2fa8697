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
    """Combine the sources in order, then combine the target with the result. None means no content."""
    if not sources:
        return target
    content = reduce(combine, sources)
    if target is None or content is None:
        return content if target is None else target
    return combine(target, content)


def expiring(combine: Combination, config: StateTtlConfig | None, now_ms: int) -> Combination:
    """Return a combination of values with access times that ignores values expired by `now_ms`."""
    if config is None:
        return combine
    dead_ms = now_ms - config.get_ttl().to_milliseconds()
    shown = config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp

    def combine_living(one: Stamped | None, other: Stamped | None) -> Stamped | None:
        living = [stamped[1] for stamped in (one, other) if stamped is not None and (shown or stamped[0] > dead_ms)]
        return (now_ms, reduce(combine, living)) if living else None

    return combine_living


def merged(descriptor: StateDescriptor, target: Any | None, sources: Sequence[Any | None], now_ms: int) -> Any | None:
    """Return the merged stored content of several namespaces: the sources in order, then the target with the result.

    None means no content. Nothing is changed, except accumulators that an aggregate function changes in its `merge`.
    Accumulators that have expired by `now_ms` are left out. Raises `ProgramError` for a kind that cannot be merged, and
    any exception of the program's functions.
    """
    kind = descriptor.kind
    if kind.merge is None:
        raise ProgramError(
            f"{kind.name} state {descriptor.name!r} cannot be merged, which session windows need; use a list, "
            "reducing or aggregating state there"
        )
    return kind.merge(descriptor, target, [content for content in sources if content is not None], now_ms)
