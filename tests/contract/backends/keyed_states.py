"""The states that a backend is tested with, and what a test does to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, final

from headgate.clock import Clock
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
from tests.contract.backends.keyed_model import (
    AggregatingModel,
    ListModel,
    MapModel,
    Model,
    ReducingModel,
    ValueModel,
)

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


Arguments = Callable[[Random], tuple[Any, ...]]


def _nothing(random: Random) -> tuple[Any, ...]:
    return ()


def _map_key(random: Random) -> tuple[Any, ...]:
    return (random.choice(_MAP_KEYS),)


_ADDING: Final[dict[str, Arguments]] = {
    "get": _nothing,
    "add": lambda random: (random.choice(((1,), (2,), (3,), None)),),
    "clear": _nothing,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KindUnderTest:
    """A kind of state as tests use it: its descriptor, for any values, what may be done to its states, and its model.

    `changes` are methods with their arguments, `write` writes one thing, `read` is the method that shows all there is.
    """

    make: Callable[[str], StateDescriptor]
    changes: Mapping[str, Arguments]
    write: Change
    read: str
    model: type[Model]
    merges: bool = False

    def descriptor(self, name: str, ttl: StateTtlConfig | None = None) -> StateDescriptor:
        """Return a descriptor of a state."""
        made = self.make(name)
        if ttl is not None:
            made.enable_time_to_live(ttl)
        return made


KINDS: Final = {
    "value": KindUnderTest(
        make=lambda name: ValueStateDescriptor(name, _ANY),
        changes={
            "value": _nothing,
            "update": lambda random: (random.choice((*_VALUES, None)),),
            "grow": _nothing,
            "clear": _nothing,
        },
        write=("update", ((1,),)),
        read="value",
        model=ValueModel,
    ),
    "list": KindUnderTest(
        make=lambda name: ListStateDescriptor(name, _ANY),
        changes={
            "get": _nothing,
            "add": lambda random: (random.choice(_VALUES),),
            "add_all": lambda random: (_some(random),),
            "update": lambda random: (_some(random),),
            "clear": _nothing,
        },
        write=("add", ((1,),)),
        read="get",
        model=ListModel,
        merges=True,
    ),
    "map": KindUnderTest(
        make=lambda name: MapStateDescriptor(name, Types.STRING(), _ANY),
        changes={
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
        write=("put", ("k", (1,))),
        read="items",
        model=MapModel,
    ),
    "reducing": KindUnderTest(
        make=lambda name: ReducingStateDescriptor(name, join, _ANY),
        changes=_ADDING,
        write=("add", ((1,),)),
        read="get",
        model=ReducingModel,
        merges=True,
    ),
    "aggregating": KindUnderTest(
        make=lambda name: AggregatingStateDescriptor(name, Gather(), _ANY),
        changes=_ADDING,
        write=("add", ((1,),)),
        read="get",
        model=AggregatingModel,
        merges=True,
    ),
}


def descriptor_of(kind: str, name: str, ttl: StateTtlConfig | None = None) -> StateDescriptor:
    """Return a descriptor of a state of the kind, for any values."""
    return KINDS[kind].descriptor(name, ttl)


def ttl_config() -> StateTtlConfig.Builder:
    """Return a builder with the time to live that the tests reckon with."""
    return StateTtlConfig.new_builder(Time.milliseconds(TTL_MS))


def forgotten() -> StateTtlConfig:
    """Expires after the last write, with all ways to clean up."""
    return ttl_config().cleanup_full_snapshot().build()


def remembered() -> StateTtlConfig:
    """Expires after the last access, and shows what has expired; cleaned up on read only, so that it is foreseeable."""
    config = ttl_config().update_ttl_on_read_and_write().return_expired_if_not_cleaned_up()
    return config.disable_cleanup_in_background().build()


PLAIN: Final = [kind.descriptor(name) for name, kind in KINDS.items()]


@final
class States:
    """The states of a test: of each kind, without and with a time to live, and of namespaces where they can merge."""

    def __init__(self, kinds: Mapping[str, KindUnderTest]) -> None:
        self._kinds = kinds
        self.plain = {name: kind.descriptor(name) for name, kind in kinds.items()}
        self.keyed = dict(self.plain)
        self.merging: dict[str, StateDescriptor] = {}
        for name, kind in kinds.items():
            self.keyed[f"{name} ttl"] = kind.descriptor(f"{name} ttl", forgotten())
            self.keyed[f"{name} ttl shown"] = kind.descriptor(f"{name} ttl shown", remembered())
            if kind.merges:
                window = f"window {name}"
                self.merging[window] = kind.descriptor(window)
                self.merging[f"{window} ttl"] = kind.descriptor(f"{window} ttl", ttl_config().build())
        self.all = {**self.keyed, **self.merging}

    def kind_of(self, name: str) -> KindUnderTest:
        """Return the kind of a state."""
        return self._kinds[self.all[name].kind.name]

    def models(self, clock: Clock) -> dict[str, Model]:
        """Return an empty model of each state."""
        return {name: self.kind_of(name).model(descriptor, clock) for name, descriptor in self.all.items()}

    def read(self, name: str) -> Change:
        """Return the call that shows all there is in a state."""
        return self.kind_of(name).read, ()

    def steps(self, seed: int, names: Sequence[str]) -> list[Step]:
        """Return a batch of changes of these states: the same for the same seed."""
        random = Random(seed)
        return [self._step(random, random.choice(names)) for _ in range(random.randint(1, 24))]

    def _step(self, random: Random, name: str) -> Step:
        namespace = random.choice(NAMESPACES) if name in self.merging else None
        method, arguments = random.choice(sorted(self.kind_of(name).changes.items(), key=lambda item: item[0]))
        return name, random.choice(KEYS), namespace, (method, arguments(random))


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
