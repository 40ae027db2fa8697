"""The execution plan as JSON: what Flink shows before a job runs, one entry for each operator."""

from __future__ import annotations

import json
from typing import Final

from headgate.graph.logical import GraphDefaults, LogicalGraph, Partitioning
from headgate.graph.resolve import ResolvedEdge, ResolvedGraph, resolve
from headgate.graph.validate import validate

SHIP_STRATEGIES: Final = {
    Partitioning.FORWARD: "FORWARD",
    Partitioning.REBALANCE: "REBALANCE",
    Partitioning.RESCALE: "RESCALE",
    Partitioning.SHUFFLE: "SHUFFLE",
    Partitioning.CUSTOM: "CUSTOM",
    Partitioning.KEY_GROUP: "HASH",
    Partitioning.BROADCAST: "BROADCAST",
}
"""Flink's names of the ways to partition."""


def execution_plan(graph: LogicalGraph, defaults: GraphDefaults) -> str:
    """Return the plan of the graph as JSON. Raises ProgramError, see `validate`."""
    validate(graph, defaults)
    resolved = resolve(graph, defaults)
    return json.dumps({"nodes": [_node(node, resolved) for node in resolved.nodes]}, indent=2)


def _node(node_id: int, graph: ResolvedGraph) -> dict[str, object]:
    node = graph.nodes[node_id]
    predecessors = [_predecessor(edge) for edge in graph.edges if edge.target == node_id]
    described = {
        "id": node.id,
        "type": node.name,
        "pact": "Data Source" if not predecessors else "Data Sink" if node.is_sink else "Operator",
        "contents": node.name if node.description is None else node.description,
        "parallelism": node.parallelism,
        "max_parallelism": node.max_parallelism,
        "uid": node.uid,
        "operator": type(node.operator).__name__,
    }
    return described | {"predecessors": predecessors} if predecessors else described


def _predecessor(edge: ResolvedEdge) -> dict[str, object]:
    predecessor = {
        "id": edge.source,
        "ship_strategy": SHIP_STRATEGIES[edge.partitioning],
        "side": ("first", "second")[edge.input_index],
    }
    return predecessor if edge.tag is None else predecessor | {"output_tag": edge.tag}
