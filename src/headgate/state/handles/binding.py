"""Binding: from a descriptor to the handle of a state, and to how two of its contents are made one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

from headgate.clock import Clock
from headgate.errors import InternalError, ProgramError
from headgate.state.descriptors import AggregatingStateDescriptor, ReducingStateDescriptor, StateDescriptor
from headgate.state.handles.expiring import (
    Lifetime,
    TtlAggregatingState,
    TtlListState,
    TtlMapState,
    TtlReducingState,
    TtlValueState,
)
from headgate.state.handles.owner import Owner
from headgate.state.handles.plain import AggregatingState, ListState, MapState, ReducingState, ValueState
from headgate.state.keyed.cleanup import IncrementalCleanup, cleanup_of
from headgate.state.keyed.expiry import Stamped
from headgate.state.ttl import StateTtlConfig

AnyHandle: TypeAlias = (
    ValueState[Any] | ListState[Any] | MapState[Any, Any] | ReducingState[Any] | AggregatingState[Any, Any]
)

_PLAIN: Final[dict[str, Callable[..., AnyHandle]]] = {
    "value": ValueState,
    "list": ListState,
    "map": MapState,
    "reducing": ReducingState,
    "aggregating": AggregatingState,
}
_EXPIRING: Final[dict[str, Callable[..., AnyHandle]]] = {
    "value": TtlValueState,
    "list": TtlListState,
    "map": TtlMapState,
    "reducing": TtlReducingState,
    "aggregating": TtlAggregatingState,
}


def bind(descriptor: StateDescriptor, owner: Owner, column: int, clock: Clock) -> AnyHandle:
    """Return a new handle of the state, which lies in `column` of the owner's cells.

    With a time to live, `clock` tells the time; an owner that is `Sweepable` is swept while the state is in use.
    """
    if descriptor.kind not in _PLAIN:
        raise InternalError(f"{descriptor!r} is of kind {descriptor.kind!r}, which no backend knows")
    if descriptor.ttl is None:
        return _PLAIN[descriptor.kind](descriptor, owner, column)
    lifetime = Lifetime(descriptor.ttl, clock, cleanup_of(descriptor, owner, column))
    return _EXPIRING[descriptor.kind](descriptor, owner, column, lifetime)


def cleanup_for_records(handle: AnyHandle) -> IncrementalCleanup | None:
    """Return the clean-up that is to go on with records that do not access the state, None when there is none."""
    lifetime: Lifetime | None = getattr(handle, "lifetime", None)
    cleanup = None if lifetime is None else lifetime.cleanup
    return cleanup if cleanup is not None and cleanup.for_every_record else None


def merged(descriptor: StateDescriptor, target: Any | None, sources: Sequence[Any | None], now_ms: int) -> Any | None:
    """Return the stored form of several namespaces' content, made one: the sources in order, then they to the target.

    None is no content. Changes nothing, but for accumulators that an aggregate function changes in its `merge`. Where
    two accumulators are merged, one that has expired by `now_ms` is left out. Raises `ProgramError` for kinds that
    cannot be merged, and what the program's functions raise.
    """
    if descriptor.kind == "list":
        contents = [content for content in (target, *sources) if content is not None]
        return [element for content in contents for element in content] or None
    combine = _combine_of(descriptor)
    if descriptor.ttl is not None:
        combine = _expiring(combine, descriptor.ttl, now_ms)
    contents = [content for content in sources if content is not None]
    if not contents:
        return target
    folded = reduce(combine, contents)
    if target is None or folded is None:
        return folded if target is None else target
    return combine(target, folded)


def _combine_of(descriptor: StateDescriptor) -> Callable[[Any, Any], Any]:
    if isinstance(descriptor, ReducingStateDescriptor):
        return descriptor.combine
    if isinstance(descriptor, AggregatingStateDescriptor):
        return descriptor.get_agg_function().merge
    raise ProgramError(
        f"{descriptor.kind} state {descriptor.name!r} cannot be merged, which session windows need; use a list, "
        "reducing or aggregating state there"
    )


def _expiring(combine: Callable[[Any, Any], Any], config: StateTtlConfig, now_ms: int) -> Callable[[Any, Any], Any]:
    """Return the combination of stamped values, in which those that have expired do not count."""
    dead_ms = now_ms - config.get_ttl().to_milliseconds()
    shown = config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp

    def combine_living(one: Stamped | None, other: Stamped | None) -> Stamped | None:
        living = [stamped[1] for stamped in (one, other) if stamped is not None and (shown or stamped[0] > dead_ms)]
        return (now_ms, reduce(combine, living)) if living else None

    return combine_living
