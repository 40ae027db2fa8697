"""Order: where a program gives up the order in which a source reads, without saying so.

Between operators of different parallelism records are dealt in turn, unless the program says otherwise. The records of
a key then take several ways to the subtask that owns the key, and arrive in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.graph.logical import Edge, GraphDefaults, LogicalGraph, Node, Partitioning
from headgate.graph.resolve import parallelism_of


@final
@dataclass(frozen=True, slots=True)
class LostOrder:
    """Operator `dealt_to` gets the records of `source` dealt in turn, and operator `keyed` is behind it."""

    source: str
    source_parallelism: int
    dealt_to: str
    parallelism: int
    keyed: str

    def __str__(self) -> str:
        return (
            f"operator {self.dealt_to!r} has {self.parallelism} subtasks, and source {self.source!r} before it has "
            f"{self.source_parallelism}: records are dealt to them in turn, so the records of a key may reach "
            f"{self.keyed!r} in another order than the source has them. To keep the order, give both the same "
            "parallelism, or call key_by(...) directly on the source; if the order does not matter, call rebalance() "
            "before the operator"
        )


def lost_orders(graph: LogicalGraph, defaults: GraphDefaults) -> list[LostOrder]:
    """Return where records are dealt in turn between a source and a `key_by`, though the program does not say so.

    Left out are sources whose parallelism follows from what they are, such as a collection with one subtask.
    """
    nodes = {node.id: node for node in graph.nodes}
    found = []
    for edge in graph.edges:
        width, target = parallelism_of(nodes[edge.source], defaults), nodes[edge.target]
        if edge.partitioning is not None or parallelism_of(target, defaults) in (1, width):
            continue
        source = _source_before(graph, nodes, edge.source, defaults)
        keyed = _keyed_behind(graph, target.id)
        if source is not None and keyed is not None and _is_chosen(source, target):
            dealt = parallelism_of(target, defaults)
            found.append(LostOrder(source.name, width, target.name, dealt, nodes[keyed].name))
    return found


def _source_before(graph: LogicalGraph, nodes: dict[int, Node], node: int, defaults: GraphDefaults) -> Node | None:
    """Return the source whose records come to the node in the order in which they were read."""
    while inputs := graph.inputs_of(node):
        if len(inputs) > 1 or not _keeps_order(inputs[0], nodes, defaults):
            return None
        node = inputs[0].source
    return nodes[node]


def _keeps_order(edge: Edge, nodes: dict[int, Node], defaults: GraphDefaults) -> bool:
    if edge.partitioning is None:
        return parallelism_of(nodes[edge.source], defaults) == parallelism_of(nodes[edge.target], defaults)
    return edge.partitioning is Partitioning.FORWARD


def _keyed_behind(graph: LogicalGraph, node: int) -> int | None:
    """Return an operator behind the node with a `key_by` in front of it, and none in between."""
    reached = {node}
    for edge in graph.edges:  # in the order of the program: an edge's source is older than its target
        if edge.source in reached:
            if edge.partitioning is Partitioning.KEY_GROUP:
                return edge.target
            reached.add(edge.target)
    return None


def _is_chosen(source: Node, target: Node) -> bool:
    """Return whether the program has set the parallelism that makes the difference."""
    return source.parallelism is not None or (target.parallelism is not None and source.parallelism_max is None)
