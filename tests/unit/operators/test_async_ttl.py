"""Asynchronous functions whose state expires, and is cleaned up, while a call that has read it is under way."""

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


class Expiring(KeyedProcessFunction):
    """Keeps things for 10 ms. What is slow reads them, and waits for 50 ms before it writes and reads again."""

    def __init__(self, *, for_every_record: bool = True) -> None:
        self.for_every_record = for_every_record

    def open(self, runtime_context: RuntimeContext) -> None:
        builder = StateTtlConfig.new_builder(Duration.of_millis(10))
        ttl = builder.cleanup_incrementally(100, self.for_every_record).build()
        of_list, of_map = (
            ListStateDescriptor("list", Types.LONG()),
            MapStateDescriptor("map", Types.LONG(), Types.LONG()),
        )
        of_list.enable_time_to_live(ttl)
        of_map.enable_time_to_live(ttl)
        self.list, self.map = runtime_context.get_list_state(of_list), runtime_context.get_map_state(of_map)

    async def process_element(self, value: tuple[str, str], ctx: Any) -> list[Any]:  # type: ignore[override]
        what = value[1]
        seen: list[Any] = [[*self.list.get()], [*self.map.items()]]
        if what != "fill":
            await asyncio.sleep(0.05)
            seen += [[*self.list.get()], [*self.map.items()], self.map.contains(1), self.map.is_empty()]
        if what != "read":
            self.list.add(2 if what == "slow" else 1)
            self.map.put(2 if what == "slow" else 1, 7)
            self.map.remove(3)
        return [] if what == "fill" else [(*seen, [*self.list.get()], [*self.map.items()])]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize(("what", "lists", "maps"), [("slow", [2], [(2, 7)]), ("read", [], [])])
def test_a_call_goes_on_when_what_it_has_read_is_cleaned_up(
    backend: str, what: str, lists: list[int], maps: list[tuple[int, int]]
) -> None:
    setup = Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
    with OperatorHarness(AsyncKeyedFactory(Expiring()), key_by=lambda record: record[0], setup=setup) as harness:
        harness.process(("a", "fill"))
        harness.later()
        harness.process(("a", what))
        harness.later()
        for _ in range(5):
            harness.advance_time(9)
            harness.process(("b", "fill"))
            harness.later()
        assert harness.advance_time(10) == [([1], [(1, 7)], [], [], False, True, lists, maps)]
        kept = harness.state("list").get("a") or [], harness.state("map").get("a") or {}
        assert [value for _, value in kept[0] if value != 1] == lists
        assert [(key, value) for key, (_, value) in kept[1].items() if key != 1] == maps


def test_an_access_to_state_cleans_up_that_of_other_keys() -> None:
    factory = AsyncKeyedFactory(Expiring(for_every_record=False))
    with OperatorHarness(factory, key_by=lambda record: record[0]) as harness:
        harness.process(*[(key, "fill") for key in "abcdef"])
        harness.later()
        harness.advance_time(20)
        harness.process(("z", "fill"))
        harness.later()
        assert [[*harness.state(name)] for name in ("list", "map")] == [["z"], ["z"]]
