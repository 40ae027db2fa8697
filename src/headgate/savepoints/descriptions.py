"""Descriptions: what a reader says of operators and their states, and of a state's entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorInfo:
    """An operator of a snapshot. `size_bytes` counts all of its state, in the form in which it is stored."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    has_keyed_state: bool
    list_states: tuple[str, ...]
    broadcast_states: tuple[str, ...]
    size_bytes: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StateInfo:
    """A keyed state of an operator that has values: `kind` and `type` as words, `entries` are keys (and namespaces).

    `size_bytes` is the size of the state's tables: of a checkpoint, once they were made of it.
    """

    name: str
    kind: str
    type: str
    has_time_to_live: bool
    entries: int
    size_bytes: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntry:
    """What a state holds for a key, as the objects that the program had.

    Of timers, `value` is the list of their times. `last_access_ms` is None without a time to live; of a list or a map
    it is a list, with a time for each element or entry.
    """

    key: Any
    namespace: Any
    value: Any
    last_access_ms: Any
