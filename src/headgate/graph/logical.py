"""The logical graph: the operators of the program and the edges between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, final

from headgate.functions.api import KeySelector
from headgate.types.typeinfo import TypeInformation

AnyKeySelector = KeySelector | Callable[[Any], Any]
"""A key selector of the user: it returns the key of a record."""


class Partitioning(Enum):
    """How the records of an edge are distributed to the subtasks of its target."""

    FORWARD = "forward"
    KEY_GROUP = "key group"
    REBALANCE = "rebalance"
    RESCALE = "rescale"
    """Round robin to the subtasks with the nearest indexes."""
    SHUFFLE = "shuffle"
    """To a random subtask."""
    CUSTOM = "custom"
    """To the subtask that the user's `CustomPartition` returns."""
    BROADCAST = "broadcast"


class ChainPolicy(Enum):
    """Whether an operator may run fused with its neighbours, without a channel between."""

    ALWAYS = "always"
    HEAD = "head"
    """Begins a chain: never fused with the operator before it."""
    NEVER = "never"
    """Never fused with the operator before it or the operator after it."""


class AnyOperatorFactory(Protocol):
    """Describes an operator; picklable. Each subtask creates its own operator from it."""

    def create(self) -> Any:
        """Return a new operator. Called in the slot."""
        ...


@final
@dataclass(slots=True, kw_only=True)
class Node:
    """One operator of the program. `resolve` replaces a value of None by its default."""

    id: int
    name: str
    operator: AnyOperatorFactory
    description: str | None = None
    uid: str | None = None
    uid_hash: str | None = None
    """A second uid under which a snapshot may have the operator's state."""
    parallelism: int | None = None
    max_parallelism: int | None = None
    parallelism_max: int | None = None
    """The most subtasks that this kind of operator can have, for instance 1 for a collection."""
    chain: ChainPolicy = ChainPolicy.ALWAYS
    buffer_timeout_ms: int | None = None
    output_type: TypeInformation | None = None
    """The type that the operator's records are converted to; None: no conversion."""
    failed_tag: str | None = None
    """The id of the side output for failed records, which the program must read; None: there is none."""
    is_source: bool = False
    is_sink: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Records flow from the node `source` to input `input_index` of the node `target`.

    `partitioning` None means forward if both nodes have the same parallelism, else rebalance. KEY_GROUP and CUSTOM have
    a `key_selector` (for CUSTOM a `CustomPartition`), other edges have none. Several edges into one input are a union.
    `tag` is the id of the side output that the records come from, None for the main output; `tag_type` is the type that
    records of a side output are converted to.
    """

    source: int
    target: int
    partitioning: Partitioning | None = None
    key_selector: AnyKeySelector | None = None
    input_index: int = 0
    tag: str | None = None
    tag_type: TypeInformation | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDefaults:
    """The defaults for nodes. `max_parallelism` None is derived from the parallelism, as in Flink.

    `stored_max_parallelism` has the max parallelism of operators, by uid, in the snapshot that the job starts from. It
    is fixed as long as the state exists, so it applies unless the program sets another one.
    """

    parallelism: int
    max_parallelism: int | None = None
    buffer_timeout_ms: int = 100
    chaining: bool = True
    stored_max_parallelism: Mapping[str, int] = field(default_factory=dict)


@final
@dataclass(slots=True)
class LogicalGraph:
    """Nodes and edges, both in the order in which the program made them: an edge's source is older than its target."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def inputs_of(self, node: int) -> list[Edge]:
        """Return the edges that end at the node with this id."""
        return [edge for edge in self.edges if edge.target == node]

    def outputs_of(self, node: int) -> list[Edge]:
        """Return the edges that begin at the node with this id."""
        return [edge for edge in self.edges if edge.source == node]

    def upstream_of(self, roots: Sequence[int]) -> LogicalGraph:
        """Return the part of the graph that the nodes with the ids `roots` depend on, themselves included."""
        wanted = set(roots)
        # Sources have lower ids than targets, so one pass over the edges, highest target first, finds all ancestors.
        for edge in sorted(self.edges, key=lambda edge: edge.target, reverse=True):
            if edge.target in wanted:
                wanted.add(edge.source)
        return LogicalGraph(
            [node for node in self.nodes if node.id in wanted],
            [edge for edge in self.edges if edge.target in wanted],
        )
