"""Generated uids: a stable name for each operator that the program did not give one.

State in a snapshot belongs to the uid of its operator, so the same program must get the same uids in every process,
and giving one operator a name, a parallelism or a uid must not change those of others. A generated uid is therefore a
hash of the operator's place alone: its kind, the places of its inputs (and which side output of theirs it reads), and,
among operators in the same place, how many came before it. Inserting an operator changes the uids of all below it; who
wants to do that sets uids.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from headgate.graph.logical import Edge, LogicalGraph


def generate_uids(graph: LogicalGraph) -> dict[int, str]:
    """Return a uid of 32 hexadecimal digits for each node id, also for nodes that have a uid of their own."""
    uids: dict[int, str] = {}
    seen: Counter[str] = Counter()
    for node in sorted(graph.nodes, key=lambda node: node.id):
        inputs = sorted(_input(edge, uids[edge.source]) for edge in graph.inputs_of(node.id))
        place = "|".join([type(node.operator).__name__, *inputs])
        uids[node.id] = hashlib.sha256(f"{place}#{seen[place]}".encode()).hexdigest()[:32]
        seen[place] += 1
    return uids


def _input(edge: Edge, source_uid: str) -> str:
    place = f"{edge.input_index}:{source_uid}"
    return place if edge.tag is None else f"{place}:{edge.tag}"
