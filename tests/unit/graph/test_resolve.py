"""Resolution: what a node says wins over the defaults, and uids that no program has to set."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.graph.logical import ChainPolicy, GraphDefaults, LogicalGraph, Partitioning
from headgate.graph.resolve import generate_uids, resolve
from tests.unit.graph.programs import TWO, OtherFactory, edge, line, node


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


ROOT = Path(__file__).parents[3]
PROGRAM = """
from headgate.graph.resolve import generate_uids
from tests.unit.graph.programs import line, node
print(*generate_uids(line(node(0, "a"), node(1, "b"), node(2, "c"))).values())
"""


def uids_in_a_process(hash_seed: str) -> str:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return run.stdout


@pytest.mark.slow
def test_uids_are_the_same_in_every_process() -> None:
    assert uids_in_a_process("1") == uids_in_a_process("2")


def test_uids_do_not_depend_on_names_parallelism_or_other_uids() -> None:
    plain = generate_uids(line(node(0, "a"), node(1, "b"), node(2, "c")))
    dressed = generate_uids(line(node(0, "x", uid="mine"), node(1, "y", parallelism=7), node(2, "z", uid="its")))
    assert plain == dressed


def test_uids_of_all_operators_differ_also_of_twins() -> None:
    graph = LogicalGraph([node(0, "s"), node(1, "a"), node(2, "a"), node(3, "a")], [edge(0, 1), edge(0, 2), edge(2, 3)])
    assert len(set(generate_uids(graph).values())) == 4


def test_a_new_branch_does_not_change_the_uids_of_others() -> None:
    graph = line(node(0, "s"), node(5, "a"), node(6, "k"))
    before = generate_uids(graph)
    graph.nodes.append(node(3, "extra", operator=OtherFactory()))
    graph.edges.append(edge(0, 3))
    after = generate_uids(graph)
    assert {key: after[key] for key in before} == before


def test_the_order_of_a_union_does_not_matter() -> None:
    def union(*order: int) -> str:
        nodes = [node(0, "s"), node(1, "t", operator=OtherFactory()), node(2, "sink")]
        return generate_uids(LogicalGraph(nodes, [edge(source, 2) for source in order]))[2]

    assert union(0, 1) == union(1, 0)


def test_readers_of_the_main_output_and_of_a_side_output_are_told_apart() -> None:
    def of_reader(tag: str | None) -> str:
        return generate_uids(LogicalGraph([node(0, "a"), node(1, "b")], [replace(edge(0, 1), tag=tag)]))[1]

    assert len({of_reader(None), of_reader("late"), of_reader("early")}) == 3
