from __future__ import annotations

import json
from dataclasses import replace

from headgate.graph.describe import execution_plan
from headgate.graph.logical import Partitioning
from tests.unit.graph.programs import TWO, edge, line, node


def test_plan_lists_operators_with_what_they_read() -> None:
    graph = line(node(0, "numbers"), node(1, "count", uid="count", max_parallelism=64))
    graph.edges = [edge(0, 1, Partitioning.KEY_GROUP, str)]
    source, count = json.loads(execution_plan(graph, TWO))["nodes"]
    assert source["type"] == "Source: numbers"
    assert source["pact"] == "Data Source"
    assert "predecessors" not in source
    assert count == {
        "id": 1,
        "type": "Sink: count",
        "pact": "Data Sink",
        "contents": "Sink: count",
        "uid": "count",
        "operator": "SomeFactory",
        "parallelism": 2,
        "max_parallelism": 64,
        "predecessors": [{"id": 0, "ship_strategy": "HASH", "side": "first"}],
    }


def test_plan_tells_the_side_output_and_the_input_that_an_edge_connects() -> None:
    graph = line(node(0, "numbers"), node(1, "count", uid="count"))
    graph.edges.append(replace(edge(0, 1), tag="late", input_index=1))
    count = json.loads(execution_plan(graph, TWO))["nodes"][1]
    assert count["predecessors"] == [
        {"id": 0, "ship_strategy": "FORWARD", "side": "first"},
        {"id": 0, "ship_strategy": "FORWARD", "side": "second", "output_tag": "late"},
    ]
