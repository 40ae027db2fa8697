"""Functions of simulated jobs with two inputs: keyed streams that share state and timers, and broadcast rules.

Both count the records of a key and keep each record until a timer lets it go, so that what comes out depends on state
and timers, but not on the order in which anything came in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.broadcast import KeyedBroadcastProcessFunction
from headgate.functions.connected import KeyedCoProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.testing.sim.external import system
from headgate.types.typeinfo import Types
from tests.simulation.own_jobs.user_code import Record

RULES: Final = MapStateDescriptor("rules", Types.INT(), Types.INT())
RULE_WEIGHT: Final = 10_000
"""What each rule that a subtask has seen adds to the counts that it emits."""

_COUNT: Final = ValueStateDescriptor("count", Types.LONG())
_HELD_MS: Final = 15
_LAST_MS: Final = MAX_TIMESTAMP - 1


@final
@dataclass(frozen=True)
class OnSide:
    """A filter that lets every other record pass: those of input `side`."""

    side: int

    def __call__(self, record: Record) -> bool:
        return record[0][2] % 2 == self.side


@final
class HoldBack(KeyedCoProcessFunction):
    """Counts the records of a key from both inputs, and holds each back for some event time."""

    def __init__(self, stage: int, name: str, outside: int) -> None:
        self._stage = stage
        self._name = name
        self._outside = outside

    def open(self, runtime_context: RuntimeContext) -> None:
        system(self._outside).pass_through(f"open of {self._name}")
        self._count = runtime_context.get_state(_COUNT)
        held = MapStateDescriptor("held", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        self._held = runtime_context.get_map_state(held)

    def process_element1(self, value: Record, ctx: KeyedCoProcessFunction.Context) -> None:
        self._hold(value, ctx)

    def process_element2(self, value: Record, ctx: KeyedCoProcessFunction.Context) -> None:
        self._hold(value, ctx)

    def _hold(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        system(self._outside).pass_through(self._name)
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        until_ms = value[0][2] + _HELD_MS
        record = value[0], (*value[1], (self._stage, ctx.get_current_key(), count))
        self._held.put(until_ms, [*(self._held.get(until_ms) or []), record])
        ctx.timer_service().register_event_time_timer(until_ms)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Record]:
        system(self._outside).pass_through(self._name)
        records: list[Record] = self._held.get(timestamp) or []
        self._held.remove(timestamp)
        return records


@final
class HoldUntilRuled(KeyedBroadcastProcessFunction[Any, Record, Record, Record]):
    """Counts the records of a key, and holds them until all input has ended; then they tell of the rules, too."""

    def __init__(self, stage: int, name: str, outside: int) -> None:
        self._stage = stage
        self._name = name
        self._outside = outside

    def open(self, runtime_context: RuntimeContext) -> None:
        system(self._outside).pass_through(f"open of {self._name}")
        held = ListStateDescriptor("held", Types.PICKLED_BYTE_ARRAY())
        self._held = runtime_context.get_list_state(held)

    def process_element(self, value: Record, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        system(self._outside).pass_through(self._name)
        self._held.add(value)
        ctx.timer_service().register_event_time_timer(_LAST_MS)

    def process_broadcast_element(self, value: Record, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        system(self._outside).pass_through(self._name)
        rules = ctx.get_broadcast_state(RULES)
        position = value[0][2]
        rules.put(position, rules.get(position, 0) + 1)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[Record]:
        ruled = RULE_WEIGHT * sum(ctx.get_broadcast_state(RULES).values())
        for count, (origin, counts) in enumerate(self._held.get() or (), 1):
            yield origin, (*counts, (self._stage, ctx.get_current_key(), count + ruled))
        self._held.clear()
