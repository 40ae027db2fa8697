"""Time to live in asynchronous functions on keyed streams: what expires while a call is under way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headgate import options
from headgate.config import Settings
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.async_keyed import AsyncKeyedFactory
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor
from headgate.state.ttl import StateTtlConfig
from headgate.testing.harness import OperatorHarness, Setup
from headgate.types.instant import Duration
from headgate.types.typeinfo import Types

TTL_MS = 10


class Slow(KeyedProcessFunction):
    """Reads what it holds of a key, waits until that has expired and been swept, reads again, and adds to it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        ttl = StateTtlConfig.new_builder(Duration.of_millis(TTL_MS)).cleanup_incrementally(10, True).build()
        numbers = ListStateDescriptor("list", Types.LONG())
        by_name = MapStateDescriptor("map", Types.STRING(), Types.LONG())
        numbers.enable_time_to_live(ttl)
        by_name.enable_time_to_live(ttl)
        self.list = runtime_context.get_list_state(numbers)
        self.map = runtime_context.get_map_state(by_name)

    async def process_element(self, value: tuple[str, str], ctx: Any) -> list[Any]:  # type: ignore[override]
        _, action = value
        before = self.seen()
        if action != "fill":
            await asyncio.sleep(2 * TTL_MS / 1000)
        after = self.seen()
        if action != "read":
            self.map.put(action, 1)
            self.list.add(len(action))
        return [before, after, self.seen()]

    def seen(self) -> tuple[list[int], dict[str, int], bool]:
        return list(self.list.get()), dict(self.map.items()), self.map.contains("fill")


FILLED = [4], {"fill": 1}, True
EMPTY: tuple[list[int], dict[str, int], bool] = [], {}, False


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_what_is_swept_while_a_call_is_under_way_is_gone_for_it_too(backend: str) -> None:
    setup = Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
    with OperatorHarness(AsyncKeyedFactory(Slow()), key_by=lambda record: record[0], setup=setup) as harness:
        harness.process(("a", "fill"), ("b", "fill"))
        assert harness.later() == [EMPTY, EMPTY, FILLED] * 2
        harness.process(("a", "read"), ("b", "write"))
        harness.advance_time(TTL_MS + 5)
        harness.process(("c", "fill"))  # with it, what has expired of all keys is swept
        assert harness.later() == [EMPTY, EMPTY, FILLED]
        assert harness.advance_time(TTL_MS) == [FILLED, EMPTY, EMPTY, FILLED, EMPTY, ([5], {"write": 1}, False)]
        harness.process(("b", "fill"))
        before, *_ = harness.later()
        assert before == ([5], {"write": 1}, False)
