"""Lost order: places where a program loses the order of a source's records without a call that says so.

Between operators of different parallelism records are rebalanced, unless the program sets another partitioning. The
records of a key then pass through several subtasks before they reach the owner of the key, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.graph.logical import Edge, GraphDefaults, LogicalGraph, Node, Partitioning
from headgate.graph.resolve import parallelism_of


@final
@dataclass(frozen=True, slots=True)
class LostOrder:
    """Records of `source` are rebalanced to operator `dealt_to`, which is upstream of the keyed operator `keyed`."""

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
    """Return each place between a source and a `key_by` where records are rebalanced without a call of `rebalance()`.

    A source that can only have one parallelism, such as a collection with one subtask, is left out.
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
    """Return the source whose records reach the node in the order in which they were read; None without one."""
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
    """Return the first operator with a `key_by` downstream of the node; None without one."""
    reached = {node}
    for edge in graph.edges:  # in the order of the program: an edge's source is older than its target
        if edge.source in reached:
            if edge.partitioning is Partitioning.KEY_GROUP:
                return edge.target
            reached.add(edge.target)
    return None


def _is_chosen(source: Node, target: Node) -> bool:
    """Return whether the program itself has set the differing parallelism."""
    return source.parallelism is not None or (target.parallelism is not None and source.parallelism_max is None)
