"""The states that a backend is tested with, and what a test does to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from hypothesis import strategies as st

from headgate.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headgate.state.ttl import StateTtlConfig
from headgate.types.instant import Time
from headgate.types.typeinfo import Types

TTL_MS: Final = 100
_ANY: Final = Types.PICKLED_BYTE_ARRAY()


@final
class Gather:
    """An aggregate function that keeps all values in a list, which it changes in place."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> tuple[Any, ...]:
        return tuple(accumulator)

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


def join(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Combine two values so that their order shows."""
    return one + other


def descriptor_of(kind: str, name: str, ttl: StateTtlConfig | None = None) -> StateDescriptor:
    """Return a descriptor of a state of the kind, for any values."""
    made: StateDescriptor
    match kind:
        case "value":
            made = ValueStateDescriptor(name, _ANY)
        case "list":
            made = ListStateDescriptor(name, _ANY)
        case "map":
            made = MapStateDescriptor(name, Types.STRING(), _ANY)
        case "reducing":
            made = ReducingStateDescriptor(name, join, _ANY)
        case _:
            made = AggregatingStateDescriptor(name, Gather(), _ANY)
    if ttl is not None:
        made.enable_time_to_live(ttl)
    return made


def ttl_config() -> StateTtlConfig.Builder:
    """Return a builder with the time to live that the tests reckon with."""
    return StateTtlConfig.new_builder(Time.milliseconds(TTL_MS))


KINDS: Final = ("value", "list", "map", "reducing", "aggregating")
PLAIN: Final = [descriptor_of(kind, kind) for kind in KINDS]
FORGOTTEN: Final = [descriptor_of(kind, f"{kind} ttl", ttl_config().cleanup_full_snapshot().build()) for kind in KINDS]
"""Expires after the last write, with all ways to clean up."""
REMEMBERED: Final = [
    descriptor_of(
        kind,
        f"{kind} ttl shown",
        ttl_config()
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .disable_cleanup_in_background()
        .build(),
    )
    for kind in KINDS
]
"""Expires after the last access, and shows what has expired; cleaned up on read only, so that this is foreseeable."""
STATES: Final = {descriptor.name: descriptor for descriptor in (*PLAIN, *FORGOTTEN, *REMEMBERED)}

MERGING: Final = {
    descriptor.name: descriptor
    for descriptor in (
        *[descriptor_of(kind, f"window {kind}") for kind in ("list", "reducing", "aggregating")],
        *[descriptor_of(kind, f"window {kind} ttl", ttl_config().build()) for kind in ("list", "reducing")],
    )
}
"""States of namespaces."""
ALL: Final = {**STATES, **MERGING}

KEYS: Final = st.sampled_from([0, 1, "a", ("t", 1)])
NAMESPACES: Final = st.integers(1, 3)
_LARGE: Final = st.just(6000).map(bytes)
_VALUES: Final = (
    st.integers(-3, 3) | st.sampled_from(["", "text", False, ()]) | st.lists(st.integers(0, 3), max_size=3) | _LARGE
)
_MAP_KEYS: Final = st.sampled_from(["", "k1", "k2", "k3"])
_MAP_VALUES: Final = st.none() | _VALUES
_TUPLES: Final = st.tuples(st.integers(0, 9))
_NOTHING: Final = st.just(())

Change = tuple[str, tuple[Any, ...]]
"""A method of a handle, and its arguments."""


def _changes(methods: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Change]:
    return st.one_of(
        [st.tuples(st.just(name), arguments) for name, arguments in {**methods, "clear": _NOTHING}.items()]
    )


_ADDING: Final = _changes({"get": _NOTHING, "add": st.tuples(_TUPLES | st.none())})
CHANGES: Final[dict[str, st.SearchStrategy[Change]]] = {
    "value": _changes({"value": _NOTHING, "update": st.tuples(_VALUES | st.none()), "grow": _NOTHING}),
    "list": _changes(
        {
            "get": _NOTHING,
            "add": st.tuples(_VALUES),
            "add_all": st.tuples(st.lists(_VALUES, max_size=3)),
            "update": st.tuples(st.lists(_VALUES, max_size=3)),
        }
    ),
    "map": _changes(
        {
            "get": st.tuples(_MAP_KEYS),
            "put": st.tuples(_MAP_KEYS, _MAP_VALUES),
            "put_all": st.tuples(st.none() | st.dictionaries(_MAP_KEYS, _MAP_VALUES, max_size=3)),
            "remove": st.tuples(_MAP_KEYS),
            "contains": st.tuples(_MAP_KEYS),
            "items": _NOTHING,
            "keys": _NOTHING,
            "is_empty": _NOTHING,
        }
    ),
    "reducing": _ADDING,
    "aggregating": _ADDING,
}
READS: Final = {"value": "value", "list": "get", "map": "items", "reducing": "get", "aggregating": "get"}
"""The method of each kind that shows all there is."""


def changes_of(names: Sequence[str]) -> st.SearchStrategy[list[tuple[str, Any, Any, Change]]]:
    """Return changes of these states: the name, a key, None or a namespace, and what is to be done."""

    def of(name: str) -> st.SearchStrategy[tuple[str, Any, Any, Change]]:
        namespaces = NAMESPACES if name in MERGING else st.none()
        return st.tuples(st.just(name), KEYS, namespaces, CHANGES[ALL[name].kind])

    return st.lists(st.sampled_from(names).flatmap(of), min_size=4, max_size=16)


def apply(target: Any, change: Change) -> Any:
    """Do the change to a handle or to a model; return what it returned, in a form that can be compared."""
    method, arguments = change
    if method == "grow":
        value = target.value()
        if isinstance(value, list):
            value.append(len(value))
            target.update(value)
        return value
    result = getattr(target, method)(*arguments)
    if method in {"items", "keys"}:
        return sorted(result, key=lambda entry: entry[0] if method == "items" else entry)
    return list(result) if isinstance(result, list) else result
