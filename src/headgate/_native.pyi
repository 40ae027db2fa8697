from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, final

from headgate.operators.keyed_context import KeyedContext
from headgate.operators.keyed_loop import KeyedCall
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import Cell
from headgate.state.kinds.value_state import ValueState
from headgate.types.record_copies import Extend, Polled

@final
class Ownership:
    """The functions of a `Passing` by value, compiled. See `headgate.types.record_copies`."""

    def __new__(
        cls, atomic: frozenset[type], copied: Callable[[Any], Any], is_alone: Callable[[Any], bool], given: int
    ) -> Ownership: ...
    def extend(self, out: list[Any], results: Iterable[Any], /) -> None: ...
    def mapped(self, call: Callable[[Any], Any], records: Iterator[Any], /) -> tuple[list[Any], bool]: ...
    def owned(self, polled: Polled, /) -> tuple[list[Any], bool]: ...
    def is_plain(self, records: list[Any], /) -> bool: ...
    @staticmethod
    def references(value: object, /) -> int: ...

@final
class Current:
    """See `headgate.state.keyed.cells`."""

    cell: Cell
    @property
    def emptied(self) -> list[Cell]: ...
    def __new__(cls, cell: Cell, emptied: list[Cell]) -> Current: ...

def value_handle(base: type[ValueState[Any]], /) -> type[ValueState[Any]]: ...

@final
class KeyedLoop:
    """See `headgate.operators.keyed_loop`. The backend's `Current` is compiled."""

    def __new__(cls, backend: KeyedBackend, extend: Extend) -> KeyedLoop: ...
    def run(self, keys: list[Any], position: Iterator[Any], call: KeyedCall, context: KeyedContext, /) -> list[Any]: ...
    def run_timed(
        self, keys: list[Any], timestamps: list[int], position: Iterator[Any], call: KeyedCall, context: KeyedContext, /
    ) -> tuple[list[Any], list[int]]: ...

def deal(
    routes: Mapping[Any, int], keys: Iterator[Any], records: list[Any], times: list[int] | None, count: int, /
) -> list[tuple[int, list[Any], list[int] | None, list[Any]]]: ...
def selected(select: Callable[[Any], Any], records: Iterator[Any], /) -> tuple[list[Any], bool]: ...
