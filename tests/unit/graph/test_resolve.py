from __future__ import annotations

from headgate.graph.logical import ChainPolicy, GraphDefaults, Partitioning
from headgate.graph.resolve import resolve
from tests.unit.graph.programs import TWO, line, node


def test_what_a_node_says_wins_over_the_defaults() -> None:
    said = node(1, "b", uid="b", parallelism=3, max_parallelism=9, buffer_timeout_ms=0, chain=ChainPolicy.HEAD)
    resolved = resolve(line(node(0, "a"), said, node(2, "c")), GraphDefaults(parallelism=2, max_parallelism=64))
    b, c = resolved.nodes[1], resolved.nodes[2]
    assert (b.uid, b.parallelism, b.max_parallelism, b.buffer_timeout_ms, b.chain) == ("b", 3, 9, 0, ChainPolicy.HEAD)
    assert (c.parallelism, c.max_parallelism, c.buffer_timeout_ms, c.chain) == (2, 64, 100, ChainPolicy.ALWAYS)


def test_max_parallelism_follows_from_parallelism_as_in_flink() -> None:
    nodes = resolve(line(node(0, "a", parallelism=85), node(1, "b", parallelism=86)), TWO).nodes
    assert [n.max_parallelism for n in nodes.values()] == [128, 256]


def test_an_operator_that_cannot_be_parallel_gets_what_it_can_have() -> None:
    nodes = resolve(line(node(0, "collection", parallelism_max=1), node(1, "sink")), TWO).nodes
    assert [n.parallelism for n in nodes.values()] == [1, 2]


def test_an_edge_that_says_nothing_is_forward_or_where_parallelism_changes_rebalance() -> None:
    edges = resolve(line(node(0, "a"), node(1, "b"), node(2, "c", parallelism=1)), TWO).edges
    assert [e.partitioning for e in edges] == [Partitioning.FORWARD, Partitioning.REBALANCE]


def test_the_max_parallelism_of_stored_state_wins_where_the_program_says_nothing() -> None:
    graph = line(node(0, "a", uid="a"), node(1, "b", uid="b", max_parallelism=16), node(2, "c", uid_hash="0f" * 16))
    stored = {"a": 64, "b": 64, "0f" * 16: 32}
    resolved = resolve(graph, GraphDefaults(parallelism=2, stored_max_parallelism=stored))
    assert [resolved.nodes[index].max_parallelism for index in range(3)] == [64, 16, 32]
    said = resolve(graph, GraphDefaults(parallelism=2, max_parallelism=256, stored_max_parallelism=stored))
    assert [said.nodes[index].max_parallelism for index in range(3)] == [256, 16, 256]
