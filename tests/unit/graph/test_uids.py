from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from headgate.graph.logical import LogicalGraph
from headgate.graph.resolve import generate_uids
from tests.unit.graph.programs import OtherFactory, edge, line, node

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
