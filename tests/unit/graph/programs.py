"""Small logical graphs for the tests."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from headgate.graph.logical import Edge, GraphDefaults, LogicalGraph, Node, Partitioning


@dataclass(frozen=True)
class SomeFactory:
    """An operator that is never run."""

    fn: Any = None

    def create(self) -> Any:
        raise AssertionError("a graph does not create operators")


@dataclass(frozen=True)
class OtherFactory(SomeFactory):
    """An operator of another kind."""


ONE = GraphDefaults(parallelism=1)
TWO = GraphDefaults(parallelism=2)


def node(node_id: int, name: str, **options: Any) -> Node:
    return Node(id=node_id, name=name, operator=options.pop("operator", SomeFactory()), **options)


def line(*nodes: Node) -> LogicalGraph:
    """The nodes one after the other; the first becomes a source and the last a sink."""
    nodes[0].is_source = True
    nodes[-1].is_sink = True
    return plain_line(*nodes)


def plain_line(*nodes: Node) -> LogicalGraph:
    """The nodes one after the other."""
    return LogicalGraph(list(nodes), [edge(a.id, b.id) for a, b in itertools.pairwise(nodes)])


def edge(source: int, target: int, partitioning: Partitioning | None = None, selector: Any = None) -> Edge:
    return Edge(source=source, target=target, partitioning=partitioning, key_selector=selector)
