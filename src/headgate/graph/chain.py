"""Chaining: operators that need no channel between them become one vertex and run fused, batch by batch.

An operator joins the chain of the previous operator if all of this holds: the edge between them is the only edge out of
the first and the only edge into the second; the edge is FORWARD and carries the main output; both operators have the
same parallelism and max parallelism; both allow chaining. So an operator with two inputs is the head of its chain, and
an operator whose side output is read is the tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.graph.logical import ChainPolicy, Partitioning
from headgate.graph.resolve import ResolvedEdge, ResolvedGraph, ResolvedNode


@final
@dataclass(frozen=True, slots=True)
class Vertex:
    """A chain of operators, head first. A lone operator is a chain of one."""

    nodes: tuple[ResolvedNode, ...]

    @property
    def head(self) -> ResolvedNode:
        """The operator that reads the channels."""
        return self.nodes[0]

    @property
    def tail(self) -> ResolvedNode:
        """The operator that writes the channels."""
        return self.nodes[-1]

    @property
    def name(self) -> str:
        """The names of the operators, as Flink joins them."""
        return " -> ".join(node.name for node in self.nodes)


@final
@dataclass(frozen=True, slots=True)
class ChainedGraph:
    """Vertices in the order of their heads, and the edges between vertices, whose ids are ids of nodes."""

    vertices: tuple[Vertex, ...]
    edges: tuple[ResolvedEdge, ...]


def chain(graph: ResolvedGraph) -> ChainedGraph:
    """Return the graph with its operators fused by the rule of this module."""
    fused = {edge.source: edge for edge in graph.edges if _may_chain(edge, graph)}
    chained = {edge.target for edge in fused.values()}
    heads = [node for node in graph.nodes.values() if node.id not in chained]
    vertices = tuple(Vertex(_follow(head, fused, graph)) for head in heads)
    return ChainedGraph(vertices, tuple(edge for edge in graph.edges if fused.get(edge.source) is not edge))


def _follow(head: ResolvedNode, fused: dict[int, ResolvedEdge], graph: ResolvedGraph) -> tuple[ResolvedNode, ...]:
    nodes = [head]
    while nodes[-1].id in fused:
        nodes.append(graph.nodes[fused[nodes[-1].id].target])
    return tuple(nodes)


def _may_chain(edge: ResolvedEdge, graph: ResolvedGraph) -> bool:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    return (
        edge.partitioning is Partitioning.FORWARD
        and edge.tag is None
        and source.parallelism == target.parallelism
        and source.max_parallelism == target.max_parallelism
        and source.chain is not ChainPolicy.NEVER
        and target.chain is ChainPolicy.ALWAYS
        and sum(other.source == edge.source for other in graph.edges) == 1
        and sum(other.target == edge.target for other in graph.edges) == 1
    )
