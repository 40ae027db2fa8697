"""The execution plan as JSON: what Flink shows before a job runs, one entry for each operator."""

from __future__ import annotations

import json

from headgate.graph.logical import GraphDefaults, LogicalGraph
from headgate.graph.resolve import ResolvedEdge, ResolvedGraph, resolve
from headgate.graph.validate import validate


def execution_plan(graph: LogicalGraph, defaults: GraphDefaults) -> str:
    """Return the plan of the graph as JSON. Raises ProgramError, see `validate`."""
    validate(graph, defaults)
    resolved = resolve(graph, defaults)
    return json.dumps({"nodes": [_node(node, resolved) for node in resolved.nodes]}, indent=2)


def _node(node_id: int, graph: ResolvedGraph) -> dict[str, object]:
    node = graph.nodes[node_id]
    return {
        "id": node.id,
        "type": node.name,
        "contents": node.name if node.description is None else node.description,
        "uid": node.uid,
        "operator": type(node.operator).__name__,
        "parallelism": node.parallelism,
        "max_parallelism": node.max_parallelism,
        "predecessors": [_predecessor(edge) for edge in graph.edges if edge.target == node_id],
    }


def _predecessor(edge: ResolvedEdge) -> dict[str, object]:
    predecessor = {"id": edge.source, "ship_strategy": edge.partitioning.name, "side": edge.input_index}
    return predecessor if edge.tag is None else predecessor | {"output_tag": edge.tag}
