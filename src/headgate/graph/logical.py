"""The logical graph: operators and the edges between them, as the program wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, final

from headgate.functions.api import KeySelector
from headgate.types.typeinfo import TypeInformation

AnyKeySelector = KeySelector | Callable[[Any], Any]
"""What takes the key out of a record, as the user gave it."""


class Partitioning(Enum):
    """How the records of an edge are dealt to the subtasks of its target."""

    FORWARD = "forward"
    KEY_GROUP = "key group"
    REBALANCE = "rebalance"
    RESCALE = "rescale"
    """In turn to some subtasks, which lie nearest by their numbers."""
    SHUFFLE = "shuffle"
    """To a subtask by chance."""
    CUSTOM = "custom"
    """To the subtask that the user's `CustomPartition` says."""
    BROADCAST = "broadcast"


class ChainPolicy(Enum):
    """Whether an operator may run fused with its neighbours, without a channel between."""

    ALWAYS = "always"
    HEAD = "head"
    """Begins a chain: never fused with the operator before it."""
    NEVER = "never"
    """Neither with the one before nor with the one after."""


class AnyOperatorFactory(Protocol):
    """Describes an operator; picklable. Each subtask creates its own operator from it."""

    def create(self) -> Any:
        """Return a fresh operator. Called in the slot."""
        ...


@final
@dataclass(slots=True, kw_only=True)
class Node:
    """One operator of the program. None stands for "not said", which `resolve` replaces by a default."""

    id: int
    name: str
    operator: AnyOperatorFactory
    description: str | None = None
    uid: str | None = None
    uid_hash: str | None = None
    """A uid that snapshots may have the operator's state under, beside its own."""
    parallelism: int | None = None
    max_parallelism: int | None = None
    parallelism_max: int | None = None
    """The most subtasks that the operator itself can have, for instance 1 for a collection."""
    chain: ChainPolicy = ChainPolicy.ALWAYS
    buffer_timeout_ms: int | None = None
    output_type: TypeInformation | None = None
    """What the operator's records are converted to; None: they stay as they are."""
    failed_tag: str | None = None
    """The id of the side output that failed records go to, if to any: the program has to read it."""
    is_source: bool = False
    is_sink: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Records flow from the node `source` to input `input_index` of the node `target`.

    `partitioning` None is "not said": forward where both have the same parallelism, else rebalance. `key_selector` is
    there exactly for KEY_GROUP and CUSTOM (a `CustomPartition`). Several edges into one input are a union. `tag` is the
    id of the side output that the records come from, `tag_type` what they are converted to; None is the main output.
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
    """What holds where a node says nothing. `max_parallelism` None follows from the parallelism, as in Flink.

    `stored_max_parallelism` is that of the operators, by uid, in the snapshot that the job starts from: it is fixed for
    the life of state, and wins where the program says nothing.
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
        # Sources are older than targets, so one pass from the youngest target down sees every edge in time.
        for edge in sorted(self.edges, key=lambda edge: edge.target, reverse=True):
            if edge.target in wanted:
                wanted.add(edge.source)
        return LogicalGraph(
            [node for node in self.nodes if node.id in wanted],
            [edge for edge in self.edges if edge.target in wanted],
        )
