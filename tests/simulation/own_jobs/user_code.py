"""What user code is made of in simulated jobs: keys, functions that count, and a source of several splits.

A record is `(origin, counts)`. The origin `(source, split, position, copy)` says where it comes from. Each keyed stage
adds `(stage, key, count)`, where count is the how-manieth record of its key this was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.functions.watermarks import TimestampAssigner
from headgate.state.descriptors import ValueStateDescriptor
from headgate.testing.sim.external import system
from headgate.types.typeinfo import Types

Origin = tuple[int, int, int, int]
Record = tuple[Origin, tuple[tuple[int, Any, int], ...]]

CLEARED_AT: Final = 5
"""The count at which `CountAndClear` forgets a key."""


@final
@dataclass(frozen=True)
class KeyOf:
    """The key of a record in a keyed stage."""

    stage: int
    keys: int

    def __call__(self, record: Record) -> Any:
        source, split, position, copy = record[0]
        key = (source * 7 + split * 5 + position * 3 + copy * (self.stage + 1)) % self.keys
        return key if self.stage % 2 else f"key-{key}"


@final
@dataclass(frozen=True)
class LastKey:
    """The key that `StartCount` has put on the record."""

    def __call__(self, record: Record) -> Any:
        return record[1][-1][1]


@final
@dataclass(frozen=True)
class StartCount:
    """Counts each record as one, for a reduce to add up."""

    stage: int
    keys: int

    def __call__(self, record: Record) -> Record:
        return record[0], (*record[1], (self.stage, KeyOf(self.stage, self.keys)(record), 1))


def add_counts(so_far: Record, record: Record) -> Record:
    """Reduce: the newer record, with its count added to those before."""
    stage, key, count = record[1][-1]
    return record[0], (*record[1][:-1], (stage, key, so_far[1][-1][2] + count))


@final
@dataclass(frozen=True)
class Keep:
    """A filter that drops some."""

    def __call__(self, record: Record) -> bool:
        return keeps(record[0])


@final
@dataclass(frozen=True)
class Copies:
    """A flat map into none, one or two."""

    def __call__(self, record: Record) -> list[Record]:
        return [(origin, record[1]) for origin in copies_of(record[0])]


@final
@dataclass(frozen=True)
class Pass:
    """A map that changes nothing."""

    name: str
    outside: int

    def __call__(self, record: Record) -> Record:
        system(self.outside).pass_through(self.name)
        return record


class CountInValue(KeyedProcessFunction):
    """Counts the records of a key in a number."""

    def __init__(self, stage: int, name: str, outside: int) -> None:
        self._stage = stage
        self._name = name
        self._outside = outside

    def open(self, runtime_context: RuntimeContext) -> None:
        system(self._outside).pass_through(f"open of {self._name}")
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> Iterable[Record]:
        system(self._outside).pass_through(self._name)
        count = self._next()
        yield value[0], (*value[1], (self._stage, ctx.get_current_key(), count))

    def _next(self) -> int:
        count: int = (self._count.value() or 0) + 1
        self._count.update(count)
        return count


@final
class CountInList(CountInValue):
    """Counts the records of a key in a list that is changed in place."""

    def _next(self) -> int:
        seen: list[int] = self._count.value() or [0]
        seen[0] += 1
        self._count.update(seen)
        return seen[0]


@final
class CountAndClear(CountInValue):
    """Counts the records of a key up to a limit, then forgets the key."""

    def _next(self) -> int:
        count: int = (self._count.value() or 0) + 1
        if count == CLEARED_AT:
            self._count.clear()
        else:
            self._count.update(count)
        return count


def keeps(origin: Origin) -> bool:
    """The rule of `Keep`."""
    return origin[2] % 4 != 1


def copies_of(origin: Origin) -> list[Origin]:
    """The rule of `Copies`."""
    source, split, position, copy = origin
    return [(source, split, position, copy * 3 + n) for n in range(position % 3)]


# --- the source ---------------------------------------------------------------------------------------------------


@final
class AtPosition(TimestampAssigner):
    """The event time of a record is its position in its split."""

    def extract_timestamp(self, value: Record, record_timestamp: int) -> int:
        return value[0][2]


@final
@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source: the number of records of each split, and how it is read."""

    splits: tuple[int, ...]
    parallelism: int
    chunk: int
    pause_ms: float


@final
@dataclass(frozen=True, slots=True)
class SimSplit:
    """The records of a split from `position` on."""

    split: int
    position: int
    end: int


@final
class SimSource(Source[SimSplit]):
    """Several splits, read in turns, some records at a time."""

    def __init__(self, index: int, spec: SourceSpec) -> None:
        self._index = index
        self._spec = spec

    def splits(self, parallelism: int) -> list[SimSplit]:
        return [SimSplit(split, 0, end) for split, end in enumerate(self._spec.splits) if end]

    def reader(self, context: SourceContext) -> SimReader:
        return SimReader(self._index, self._spec, context)


@final
class SimReader(SourceReader[SimSplit]):
    """Reads a chunk of the next split, then pauses."""

    def __init__(self, index: int, spec: SourceSpec, context: SourceContext) -> None:
        self._index = index
        self._spec = spec
        self._context = context
        self._splits: list[SimSplit] = []
        self._ready_ms = 0.0

    def add_splits(self, splits: list[SimSplit]) -> None:
        self._splits += splits

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        now_ms = self._context.monotonic_ms()
        if now_ms < self._ready_ms:
            return NotReady(self._ready_ms)
        self._ready_ms = now_ms + self._spec.pause_ms
        split = self._splits.pop(0)
        after = min(split.end, split.position + min(self._spec.chunk, records_max))
        if after < split.end:
            self._splits.append(SimSplit(split.split, after, split.end))
        return Records([((self._index, split.split, n, 0), ()) for n in range(split.position, after)])

    def snapshot(self) -> list[SimSplit]:
        return list(self._splits)
