"""Resolution: it fills in the defaults for values that a logical graph does not set."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import final

from headgate.graph.logical import (
    AnyKeySelector,
    AnyOperatorFactory,
    ChainPolicy,
    Edge,
    GraphDefaults,
    LogicalGraph,
    Node,
    Partitioning,
)
from headgate.state.keygroups import default_max_parallelism
from headgate.types.type_information import TypeInformation


def generate_uids(graph: LogicalGraph) -> dict[int, str]:
    """Return a generated uid, 32 hexadecimal digits, for each node id, also for nodes whose uid the program sets."""
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedNode:
    """An operator with all values set."""

    id: int
    name: str
    description: str | None
    uid: str
    uid_hash: str | None
    operator: AnyOperatorFactory
    output_type: TypeInformation | None
    parallelism: int
    max_parallelism: int
    parallelism_max: int
    """The most subtasks that the operator can have: the lower of max parallelism and the limit of its kind."""
    buffer_timeout_ms: int
    chain: ChainPolicy
    is_sink: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedEdge:
    """An edge with its partitioning set. `is_implied` says that the program does not set it."""

    source: int
    target: int
    partitioning: Partitioning
    key_selector: AnyKeySelector | None
    input_index: int
    tag: str | None
    tag_type: TypeInformation | None
    is_implied: bool


@final
@dataclass(frozen=True, slots=True)
class ResolvedGraph:
    """A logical graph with all values set. Nodes are by id, in the order of the program."""

    nodes: dict[int, ResolvedNode]
    edges: tuple[ResolvedEdge, ...]


def resolve(graph: LogicalGraph, defaults: GraphDefaults) -> ResolvedGraph:
    """Return `graph` with all defaults filled in. The graph must have passed `validate`."""
    uids = generate_uids(graph)
    nodes = {node.id: _resolve_node(node, uids[node.id], defaults) for node in graph.nodes}
    return ResolvedGraph(nodes, tuple(_resolve_edge(edge, nodes) for edge in graph.edges))


def parallelism_of(node: Node, defaults: GraphDefaults) -> int:
    """Return the parallelism of the node: its own, else the default, limited by `parallelism_max`."""
    if node.parallelism is not None:
        return node.parallelism
    if node.parallelism_max is not None:
        return min(defaults.parallelism, node.parallelism_max)
    return defaults.parallelism


def max_parallelism_of(node: Node, generated_uid: str, defaults: GraphDefaults) -> int:
    """Return the max parallelism of the node.

    It is the first that is set of: the node's own value, the program's, the restored state's. Otherwise it is derived
    from the parallelism.
    """
    if node.max_parallelism is not None:
        return node.max_parallelism
    if defaults.max_parallelism is not None:
        return defaults.max_parallelism
    uid = generated_uid if node.uid is None else node.uid
    stored = defaults.stored_max_parallelism.get(uid, defaults.stored_max_parallelism.get(node.uid_hash or uid))
    return default_max_parallelism(parallelism_of(node, defaults)) if stored is None else stored


def _resolve_node(node: Node, generated_uid: str, defaults: GraphDefaults) -> ResolvedNode:
    timeout_ms = node.buffer_timeout_ms
    max_parallelism = max_parallelism_of(node, generated_uid, defaults)
    return ResolvedNode(
        id=node.id,
        name=_full_name(node),
        description=node.description,
        uid=generated_uid if node.uid is None else node.uid,
        uid_hash=node.uid_hash,
        operator=node.operator,
        output_type=node.output_type,
        parallelism=parallelism_of(node, defaults),
        max_parallelism=max_parallelism,
        parallelism_max=min(max_parallelism, node.parallelism_max or max_parallelism),
        buffer_timeout_ms=defaults.buffer_timeout_ms if timeout_ms is None else timeout_ms,
        chain=node.chain if defaults.chaining else ChainPolicy.NEVER,
        is_sink=node.is_sink,
    )


def _full_name(node: Node) -> str:
    """Return the name, with Flink's prefix for a source or sink."""
    if node.is_source:
        return f"Source: {node.name}"
    return f"Sink: {node.name}" if node.is_sink else node.name


def _resolve_edge(edge: Edge, nodes: dict[int, ResolvedNode]) -> ResolvedEdge:
    same = nodes[edge.source].parallelism == nodes[edge.target].parallelism
    implied = Partitioning.FORWARD if same else Partitioning.REBALANCE
    return ResolvedEdge(
        source=edge.source,
        target=edge.target,
        partitioning=implied if edge.partitioning is None else edge.partitioning,
        key_selector=edge.key_selector,
        input_index=edge.input_index,
        tag=edge.tag,
        tag_type=edge.tag_type,
        is_implied=edge.partitioning is None,
    )
