"""Descriptions of operators, of their states, and of a state's entries, as a reader returns them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorInfo:
    """An operator of a snapshot. `size_bytes` is the size of all its state as it is stored."""

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
    """A keyed state that has values. `kind` and `type` are texts; `entries` is the number of keys (and namespaces).

    `size_bytes` is the size of the state's tables. The state of a checkpoint is converted to tables first.
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
    """The value of a state for a key, as objects of the program.

    For timers, `value` is the list of their times. `last_access_ms` is None without a time to live. For a list or a map
    it is a list, with a time for each element or entry.
    """

    key: Any
    namespace: Any
    value: Any
    last_access_ms: Any
