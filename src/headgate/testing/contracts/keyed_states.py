"""The states that a backend is tested with, and what a test does to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

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

KEYS: Final = (1, "a", ("t", 1))
NAMESPACES: Final = (1, 2, 3)

Change = tuple[str, tuple[Any, ...]]
"""A method of a handle, and its arguments."""

Step = tuple[str, Any, Any, Change]
"""The name of a state, a key, None or a namespace, and what is to be done there."""

_VALUES: Final[tuple[Any, ...]] = (0, 1, "", "text", False, (), [], [1], [1, 2], bytes(6000))
_MAP_KEYS: Final = ("", "k1", "k2", "k3")


def _some(random: Random, most: int = 3) -> list[Any]:
    return [random.choice(_VALUES) for _ in range(random.randint(0, most))]


def _entries(random: Random) -> dict[str, Any]:
    return {random.choice(_MAP_KEYS): random.choice((*_VALUES, None)) for _ in range(random.randint(0, 3))}


_Arguments = Callable[[Random], tuple[Any, ...]]


def _nothing(random: Random) -> tuple[Any, ...]:
    return ()


def _map_key(random: Random) -> tuple[Any, ...]:
    return (random.choice(_MAP_KEYS),)


_ADDING: Final[dict[str, _Arguments]] = {
    "get": _nothing,
    "add": lambda random: (random.choice(((1,), (2,), (3,), None)),),
    "clear": _nothing,
}
_CHANGES: Final[dict[str, dict[str, _Arguments]]] = {
    "value": {
        "value": _nothing,
        "update": lambda random: (random.choice((*_VALUES, None)),),
        "grow": _nothing,
        "clear": _nothing,
    },
    "list": {
        "get": _nothing,
        "add": lambda random: (random.choice(_VALUES),),
        "add_all": lambda random: (_some(random),),
        "update": lambda random: (_some(random),),
        "clear": _nothing,
    },
    "map": {
        "get": _map_key,
        "put": lambda random: (random.choice(_MAP_KEYS), random.choice((*_VALUES, None))),
        "put_all": lambda random: (random.choice((None, _entries(random))),),
        "remove": _map_key,
        "contains": _map_key,
        "items": _nothing,
        "keys": _nothing,
        "is_empty": _nothing,
        "clear": _nothing,
    },
    "reducing": _ADDING,
    "aggregating": _ADDING,
}


def steps_of(seed: int, names: Sequence[str]) -> list[Step]:
    """Return a batch of changes of these states: the same for the same seed."""
    random = Random(seed)
    return [_step(random, random.choice(names)) for _ in range(random.randint(1, 24))]


def _step(random: Random, name: str) -> Step:
    namespace = random.choice(NAMESPACES) if name in MERGING else None
    method, arguments = random.choice(sorted(_CHANGES[ALL[name].kind].items(), key=lambda item: item[0]))
    return name, random.choice(KEYS), namespace, (method, arguments(random))


READS: Final = {"value": "value", "list": "get", "map": "items", "reducing": "get", "aggregating": "get"}
"""The method of each kind that shows all there is."""


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
