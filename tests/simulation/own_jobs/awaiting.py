"""Counts by key that coroutines keep, in simulated jobs: they await between reading and writing, and at timers."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import Final, final

from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from headgate.testing.sim.external import system
from headgate.types.typeinfo import Types
from tests.simulation.own_jobs.calling import Noted
from tests.simulation.own_jobs.user_code import Record

_HELD_MS: Final = 15


@final
class AwaitedCount(KeyedProcessFunction):
    """Counts the records of a key, and holds some back for some event time.

    Each result comes with the watermark that its invocation began behind.
    """

    def __init__(self, stage: int, name: str, outside: int) -> None:
        self._stage = stage
        self._name = name
        self._outside = outside

    def open(self, runtime_context: RuntimeContext) -> None:
        system(self._outside).pass_through(f"open of {self._name}")
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        held = MapStateDescriptor("held", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        self._held = runtime_context.get_map_state(held)

    async def process_element(  # type: ignore[override]
        self, value: Record, ctx: KeyedProcessFunction.Context
    ) -> AsyncIterator[Noted]:
        origin, fate = value[0], zlib.crc32(repr(value[0]).encode())
        before_ms = ctx.timer_service().current_watermark()
        count = (await self._count.async_value() or 0) + 1
        await self._wait(fate)
        await self._count.async_update(count)
        record = origin, (*value[1], (self._stage, ctx.get_current_key(), count))
        if fate % 3:
            yield (origin, before_ms), record
            return
        until_ms = origin[2] + _HELD_MS
        await self._held.async_put(until_ms, [*(await self._held.async_get(until_ms) or []), record])
        ctx.timer_service().register_event_time_timer(until_ms)

    async def on_timer(  # type: ignore[override]
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> list[Noted]:
        before_ms = ctx.timer_service().current_watermark()
        records: list[Record] = await self._held.async_get(timestamp) or []
        await self._wait(timestamp)
        await self._held.async_remove(timestamp)
        return [((record[0], before_ms), record) for record in records]

    async def _wait(self, fate: int) -> None:
        await asyncio.sleep(fate % 19 / 1000)
        system(self._outside).pass_through(self._name)
