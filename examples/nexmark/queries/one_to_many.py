"""A join without bounds: a record of the first stream with all those of the second that have its key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.common import Types
from headgate.datastream import KeyedCoProcessFunction, RuntimeContext
from headgate.datastream.state import ListStateDescriptor, ValueStateDescriptor

ANY = Types.PICKLED_BYTE_ARRAY()


class OneToMany(KeyedCoProcessFunction):
    """Emits pairs. What comes before its partner waits for it; the first stream has one record of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.one = runtime_context.get_state(ValueStateDescriptor("one", ANY))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", ANY))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.one.update(value)
        for other in self.waiting.get():
            yield value, other
        self.waiting.clear()

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        one = self.one.value()
        if one is None:
            self.waiting.add(value)
        else:
            yield one, value
