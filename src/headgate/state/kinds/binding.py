"""Making the handle of a state: of the kind's own class, or of the compiled class that takes its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from types import ModuleType
from typing import Any, TypeAlias

from headgate.clock import Clock
from headgate.state.keyed.ttl_cleanup import IncrementalCleanup
from headgate.state.kinds.aggregating_state import AggregatingState, AggregatingStateDescriptor, PythonAggregatingState
from headgate.state.kinds.handle import Handle, State
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.list_state import ListState, PythonListState
from headgate.state.kinds.map_state import MapState, PythonMapState
from headgate.state.kinds.owner import HandleOwner
from headgate.state.kinds.reducing_state import PythonReducingState, ReducingState
from headgate.state.kinds.value_state import PythonValueState, ValueState
from headgate.state.type_check import TypeCheck

Make: TypeAlias = Callable[[Any, HandleOwner, int], State]
"""Makes the handle of a state without a time to live, of its descriptor, its owner and its column."""


def bind(
    descriptor: StateDescriptor,
    owner: HandleOwner,
    column: int,
    clock: Clock,
    cleanup: IncrementalCleanup | None = None,
) -> State:
    """Return a new handle of the state in `column` of the owner's cells.

    With a time to live, the handle reads `clock`, and each access advances `cleanup`.
    """
    kind = descriptor.kind
    if descriptor.ttl is None:
        return _compiled(owner.native).get(kind.handle, kind.handle)(descriptor, owner, column)
    return kind.expiring(descriptor, owner, column, Lifetime(descriptor.ttl, clock, cleanup))


@cache
def _compiled(native: ModuleType | None) -> Mapping[Make, Make]:
    """Return by what each class of handles is replaced. No pickle can refer to the compiled classes by a name."""
    if native is None:
        return {}
    return {
        PythonValueState: _made_by(native.value_handle(ValueState)),
        PythonListState: _made_by(native.list_handle(ListState)),
        PythonMapState: _made_by(native.map_handle(MapState), lambda _: Handle),
        PythonReducingState: _made_by(native.reducing_handle(ReducingState), attrgetter("combine")),
        PythonAggregatingState: _made_by(
            native.aggregating_handle(AggregatingState), AggregatingStateDescriptor.get_agg_function
        ),
    }


def _made_by(handle: Callable[..., State], more: Callable[[Any], Any] = lambda _: None) -> Make:
    """Return a function that makes handles of a class. `more` returns the one attribute that only this kind has."""

    def made(descriptor: StateDescriptor, owner: HandleOwner, column: int) -> State:
        return handle(descriptor.name, owner, owner.current, column, TypeCheck(descriptor), more(descriptor))

    return made
