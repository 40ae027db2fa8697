"""Rules and items: pairs of items of one colour, by rules that every subtask knows and that change on the way.

python examples/state/rules_and_items.py

A rule says which shape comes first and which second. Items are keyed by their colour; what has come first is kept for
each colour and rule until its second comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedBroadcastProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import MapStateDescriptor


@dataclass(frozen=True)
class Item:
    color: str
    shape: str

    def __str__(self) -> str:
        return f"{self.color} {self.shape}"


@dataclass(frozen=True)
class Rule:
    name: str
    first: str
    second: str


class MyKeyedBroadcastProcessFunction(KeyedBroadcastProcessFunction[str, Item, Rule, str]):
    """Emits the pairs that are found."""

    def __init__(self) -> None:
        self._map_state_desc = MapStateDescriptor("item", Types.STRING(), Types.LIST(Types.PICKLED_BYTE_ARRAY()))
        self._rule_state_desc = MapStateDescriptor("RulesBroadcastState", Types.STRING(), Types.PICKLED_BYTE_ARRAY())

    def open(self, runtime_context: RuntimeContext) -> None:
        self._map_state = runtime_context.get_map_state(self._map_state_desc)

    def process_broadcast_element(self, value: Rule, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        """Take a new rule, or another one of the same name. Every subtask does this, so all know the same rules."""
        ctx.get_broadcast_state(self._rule_state_desc).put(value.name, value)
        # What waits for its second by the rule of this name does so by a rule that is no more.
        ctx.apply_to_keyed_state(self._map_state_desc, lambda color, waiting: waiting.remove(value.name))

    def process_element(self, value: Item, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[str]:
        for rule_name, rule in ctx.get_broadcast_state(self._rule_state_desc).items():
            # Of the colour of `value`, which is the current key.
            stored = self._map_state.get(rule_name) or []

            if value.shape == rule.second and stored:
                for first in stored:
                    yield f"MATCH: {first} - {value}"
                stored = []

            if value.shape == rule.first:
                stored.append(value)

            if stored:
                self._map_state.put(rule_name, stored)
            else:
                self._map_state.remove(rule_name)


SCRIPT = [
    Rule("pair", first="square", second="circle"),
    Item("red", "square"),
    Item("blue", "square"),
    Item("red", "square"),
    Item("red", "circle"),  # two matches: both red squares have waited
    Rule("pair", first="circle", second="star"),
    Item("blue", "circle"),  # no match: the blue square waited by the rule that was
    Item("red", "star"),
    Item("blue", "star"),  # one match
]

if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment(
        # Rules and items come over two channels, and between those there is no order. One record at a time, and some
        # time between any two, is enough to keep that of the script.
        Configuration.from_dict({"headgate.batch.records": "1", "parallelism.default": "1"})
    )
    source = DataGeneratorSource(lambda index: SCRIPT[index], count=len(SCRIPT), records_per_second=20)
    script = env.from_source(source, None, "script")

    color_partitioned_stream = script.filter(lambda event: isinstance(event, Item)).key_by(lambda item: item.color)
    rule_state_descriptor = MapStateDescriptor("RulesBroadcastState", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
    rule_broadcast_stream = script.filter(lambda event: isinstance(event, Rule)).broadcast(rule_state_descriptor)

    color_partitioned_stream.connect(rule_broadcast_stream).process(MyKeyedBroadcastProcessFunction()).print()
    env.execute("rules and items")
