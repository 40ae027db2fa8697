from __future__ import annotations

from dataclasses import replace

import pytest

from headgate.graph.chain import chain
from headgate.graph.logical import ChainPolicy, GraphDefaults, LogicalGraph, Node, Partitioning
from headgate.graph.resolve import resolve
from tests.unit.graph.programs import TWO, edge, node, plain_line


def names(graph: LogicalGraph, defaults: GraphDefaults = TWO) -> list[str]:
    return [vertex.name for vertex in chain(resolve(graph, defaults)).vertices]


def test_a_line_of_operators_becomes_one_vertex_without_edges() -> None:
    chained = chain(resolve(plain_line(node(0, "a"), node(1, "b"), node(2, "c")), TWO))
    assert [vertex.name for vertex in chained.vertices] == ["a -> b -> c"]
    assert chained.edges == ()


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (node(1, "b", parallelism=1), ["a", "b", "c"]),
        (node(1, "b", max_parallelism=64), ["a", "b", "c"]),
        (node(1, "b", chain=ChainPolicy.HEAD), ["a", "b -> c"]),
        (node(1, "b", chain=ChainPolicy.NEVER), ["a", "b", "c"]),
    ],
    ids=["parallelism", "max parallelism", "start_new_chain", "disable_chaining"],
)
def test_chain_breaks_at(second: Node, expected: list[str]) -> None:
    assert names(plain_line(node(0, "a"), second, node(2, "c"))) == expected


@pytest.mark.parametrize("partitioning", [p for p in Partitioning if p is not Partitioning.FORWARD])
def test_an_edge_that_moves_records_is_not_chained(partitioning: Partitioning) -> None:
    graph = plain_line(node(0, "a"), node(1, "b"))
    graph.edges = [replace(graph.edges[0], partitioning=partitioning)]
    assert names(graph) == ["a", "b"]


def test_an_operator_with_two_readers_is_chained_with_neither() -> None:
    graph = LogicalGraph([node(0, "a"), node(1, "b"), node(2, "c")], [edge(0, 1), edge(0, 2)])
    assert names(graph) == ["a", "b", "c"]


def test_a_union_is_not_chained() -> None:
    graph = LogicalGraph([node(0, "a"), node(1, "b"), node(2, "c"), node(3, "d")], [edge(0, 2), edge(1, 2), edge(2, 3)])
    assert names(graph) == ["a", "b", "c -> d"]


def test_without_chaining_every_operator_is_a_vertex() -> None:
    assert names(plain_line(node(0, "a"), node(1, "b")), GraphDefaults(parallelism=2, chaining=False)) == ["a", "b"]


def test_an_operator_with_two_inputs_is_the_head_of_its_chain_also_when_both_come_from_one_operator() -> None:
    graph = LogicalGraph(
        [node(0, "a"), node(1, "both"), node(2, "c")],
        [edge(0, 1), replace(edge(0, 1), input_index=1), edge(1, 2)],
    )
    assert names(graph) == ["a", "both -> c"]


def test_an_operator_whose_side_output_is_read_is_the_tail_of_its_chain() -> None:
    side = replace(edge(1, 2), tag="late")
    assert names(LogicalGraph([node(0, "a"), node(1, "b"), node(2, "c")], [edge(0, 1), side])) == ["a -> b", "c"]
    graph = LogicalGraph([node(0, "a"), node(1, "b"), node(2, "c"), node(3, "d")], [edge(0, 1), side, edge(1, 3)])
    assert names(graph) == ["a -> b", "c", "d"]
