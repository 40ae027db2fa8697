from __future__ import annotations

from headgate.graph.logical import LogicalGraph
from tests.unit.graph.programs import edge, node


def test_upstream_of_a_node_holds_what_it_depends_on_and_nothing_else() -> None:
    graph = LogicalGraph(
        [node(0, "source"), node(1, "map"), node(2, "other source"), node(3, "union sink"), node(4, "other sink")],
        [edge(0, 1), edge(1, 3), edge(2, 3), edge(0, 4)],
    )
    part = graph.upstream_of([3])
    assert [n.name for n in part.nodes] == ["source", "map", "other source", "union sink"]
    assert [(e.source, e.target) for e in part.edges] == [(0, 1), (1, 3), (2, 3)]
