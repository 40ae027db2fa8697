"""The measured programs of asynchronous state: the same functions with plain state and with state that is awaited."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial, wraps
from typing import Any, Final

from bench import inputs
from bench.outputs import TallySink
from bench.programs import Build, Count, key_of
from headgate.common import Types
from headgate.datastream import KeyedProcessFunction, KeyedStream, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import MapState, MapStateDescriptor
from headgate.state.rocksdb.database import RocksDatabase

KEYS: Final = 10_000
CACHED: Final = 3_000
"""The keys come round and round, so what is in the cache is gone before its turn comes: each read is of a row."""
READ_S: Final = 0.001
ENTRY: Final = "count"


def delay_reads(read_s: float) -> None:
    """Have each read of RocksDB in this process take longer by `read_s`, be it of one row or of many at once."""
    for name in ("get", "get_many", "rows"):
        read = getattr(RocksDatabase, name)
        if read_s and not hasattr(read, "__wrapped__"):
            setattr(RocksDatabase, name, delayed(read, read_s))


def delayed(read: Callable[..., Any], read_s: float) -> Callable[..., Any]:
    """Return the method, made to take longer."""

    @wraps(read)
    def slowly(*arguments: Any) -> Any:
        time.sleep(read_s)
        return read(*arguments)

    return slowly


class CountInValue(Count):
    """Counts the records of each key in a value, after slow reads."""

    def __init__(self, read_s: float) -> None:
        self.read_s = read_s

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        delay_reads(self.read_s)


class AwaitedCountInValue(CountInValue):
    """Does so with state that is awaited."""

    async def process_element(self, value: Any, ctx: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        count = (await self.count.async_value() or 0) + 1
        await self.count.async_update(count)
        yield value[0], count


class CountInMap(KeyedProcessFunction):
    """Counts the records of each key in an entry of a map, after slow reads."""

    counts: MapState[str, int]

    def __init__(self, read_s: float) -> None:
        self.read_s = read_s

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.STRING(), Types.LONG()))
        delay_reads(self.read_s)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.counts.get(ENTRY) or 0) + 1
        self.counts.put(ENTRY, count)
        yield value[0], count


class AwaitedCountInMap(CountInMap):
    """Does so with state that is awaited."""

    async def process_element(self, value: Any, ctx: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        count = (await self.counts.async_get(ENTRY) or 0) + 1
        await self.counts.async_put(ENTRY, count)
        yield value[0], count


# --- jobs


def build(env: StreamExecutionEnvironment, folder: str, seconds: float, function: KeyedProcessFunction) -> None:
    _tuples(env, seconds).process(function).sink_to(TallySink(folder))


def build_async(env: StreamExecutionEnvironment, folder: str, seconds: float, function: KeyedProcessFunction) -> None:
    _tuples(env, seconds).enable_async_state().process(function).sink_to(TallySink(folder))


def _tuples(env: StreamExecutionEnvironment, seconds: float) -> KeyedStream:
    source = inputs.CycleSource(partial(inputs.shuffled_keys, KEYS), seconds)
    return env.from_source(source, None, "tuples").key_by(key_of)


KINDS: Final = ("value", "map")
READS: Final = {"slow": READ_S, "local": 0.0}
JOBS: dict[str, Build] = {
    name: job
    for reads, read_s in READS.items()
    for name, job in {
        f"plain value, {reads}": partial(build, function=CountInValue(read_s)),
        f"async value, {reads}": partial(build_async, function=AwaitedCountInValue(read_s)),
        f"plain map, {reads}": partial(build, function=CountInMap(read_s)),
        f"async map, {reads}": partial(build_async, function=AwaitedCountInMap(read_s)),
    }.items()
}
