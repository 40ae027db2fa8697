from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeVar, final

from headgate.operators.keyed_context import KeyedContext
from headgate.operators.keyed_loop import KeyedCall
from headgate.operators.plain import C, FlatCall, RecordCall
from headgate.operators.windows.pane_loop import PaneSteps
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import Cell
from headgate.state.kinds.handle import Handle
from headgate.types.record_copies import Extend, Polled
from headgate.types.row import Row, RowKind

H = TypeVar("H", bound=Handle)

INTERFACE: str

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

def value_handle(base: type[H], /) -> type[H]: ...
def list_handle(base: type[H], /) -> type[H]: ...
def map_handle(base: type[H], /) -> type[H]: ...
def reducing_handle(base: type[H], /) -> type[H]: ...
def aggregating_handle(base: type[H], /) -> type[H]: ...

@final
class KeyedLoop:
    """See `headgate.operators.keyed_loop`. The backend's `Current` is compiled."""

    def __new__(cls, backend: KeyedBackend, extend: Extend) -> KeyedLoop: ...
    def run(self, keys: list[Any], position: Iterator[Any], call: KeyedCall, context: KeyedContext, /) -> list[Any]: ...
    def run_timed(
        self, keys: list[Any], timestamps: list[int], position: Iterator[Any], call: KeyedCall, context: KeyedContext, /
    ) -> tuple[list[Any], list[int]]: ...

@final
class RecordLoop:
    """See `headgate.operators.plain`."""

    def __new__(cls, extend: Extend) -> RecordLoop: ...
    def run(self, position: Iterator[Any], call: RecordCall[C], context: C, /) -> list[Any]: ...
    def run_timed(
        self, timestamps: list[int], position: Iterator[Any], call: RecordCall[C], context: C, /
    ) -> tuple[list[Any], list[int]]: ...
    def flat(self, position: Iterator[Any], call: FlatCall, /) -> list[Any]: ...
    def flat_timed(
        self, timestamps: list[int], position: Iterator[Any], call: FlatCall, /
    ) -> tuple[list[Any], list[int]]: ...

@final
class Call:
    """A call that an adapter of `headgate.operators.calls` returns; of kind "reduced", that of a keyed reduce.

    `other` is a compiled handle of value state for "reduced", else `expect_records`.
    """

    def __new__(cls, kind: str, method: Callable[..., Any], other: Any) -> Call: ...
    def __call__(self, value: Any, context: Any = None, /) -> Iterable[Any] | None: ...

def deal(
    routes: Mapping[Any, int], keys: Iterator[Any], records: list[Any], times: list[int] | None, count: int, /
) -> list[tuple[int, list[Any], list[int] | None, list[Any]]]: ...
def selected(select: Callable[[Any], Any], records: Iterator[Any], /) -> tuple[list[Any], bool]: ...
def add_to_panes(keys: list[Any], timestamps: Iterable[int], records: Iterator[Any], steps: PaneSteps, /) -> None: ...

@final
class Codec:
    """Encodes batches in their typed form, and decodes them: see `headgate.types.typed_batches`."""

    def __new__(
        cls,
        row: type[Row],
        keyword_names: type[tuple[str, ...]],
        decimal: type[Decimal],
        row_kinds: tuple[RowKind, ...],
        class_of: Callable[[tuple[str, ...] | None], type[Row]],
        damaged: type[Exception],
    ) -> Codec: ...
    def encode(self, records: list[Any], timestamps: list[int] | None, keys: list[Any] | None, /) -> bytes | None: ...
    def decode(self, payload: bytes | memoryview, /) -> tuple[list[Any], list[int] | None, list[Any] | None]: ...
