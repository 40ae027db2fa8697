"""Plans the stages of a batch job, in an order in which they can run. Pure.

The differences from a streaming job are decided here. There are no watermarks, because event time advances only at the
end of a key. A rolling aggregate emits only its last value, as in Flink. Keyed state is in memory, because it is the
state of one key. `ShuffleKind` tells how records get from stage to stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, final

from headgate.elements import MAX_TIMESTAMP
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.watermarks import WatermarkStrategy
from headgate.graph.job_graph import EdgePlan, JobGraph, OperatorPlan, VertexPlan
from headgate.graph.logical import AnyKeySelector, AnyOperatorFactory, Partitioning
from headgate.operators.base import FunctionWrapper, method_of
from headgate.operators.keyed_functions import STATE_NAME, KeyedProcessFactory, ReduceFactory
from headgate.operators.source import SourceFactory
from headgate.operators.watermarks import AssignFactory
from headgate.options import CHANGELOG, CHECKPOINT_INCREMENTAL, STATE_BACKEND
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import Types


@final
class FinalReduce(FunctionWrapper, KeyedProcessFunction):
    """Combines the records of a key by a `ReduceFunction` or a callable, and emits the final value."""

    def __init__(self, function: object) -> None:
        self._function = function

    @property
    def inner(self) -> tuple[object]:
        return (self._function,)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._combine = method_of(self._function, "reduce")
        self._state = runtime_context.get_state(ValueStateDescriptor(STATE_NAME, Types.PICKLED_BYTE_ARRAY()))
        super().open(runtime_context)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        so_far = self._state.value()
        if so_far is None:
            ctx.timer_service().register_event_time_timer(MAX_TIMESTAMP)
            self._state.update(value)
        else:
            self._state.update(self._combine(so_far, value))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield self._state.value()


@final
class ShuffleKind(Enum):
    """How the records of an edge come to the tasks of the next stage."""

    NONE = "none"
    """A task reads the records of the previous stage's task with its number, in the order of emission."""
    BY_KEY = "by key"
    """To the task that owns the key group. There records are sorted by key, time, input and order of emission."""
    BY_TASK = "by task"
    """To the task that the sender names. There records are sorted by input and order of emission."""
    TO_ALL = "to all"
    """Every record to every task, which reads these records before all others."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An edge that ends at a stage. `edge` is its index in the plan, `stage` the index of the stage where it begins."""

    edge: int
    stage: int
    shuffle: ShuffleKind
    index: int
    """The index of the operator's input, 0 or 1."""
    key_selector: AnyKeySelector | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingEdge:
    """An edge that begins at a stage, with everything that decides to which task a record goes."""

    edge: int
    shuffle: ShuffleKind
    index: int
    tag: str | None
    tag_type: TypeInformation | None
    key_selector: AnyKeySelector | None
    deals: bool
    """For BY_TASK: distribute records over all tasks; otherwise they go to the task with the sender's number."""
    parallelism: int
    max_parallelism: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A chain of operators, run by tasks. Its index is its vertex's; all its inputs come from earlier stages."""

    vertex: VertexPlan
    inputs: tuple[Input, ...]
    targets: tuple[OutgoingEdge, ...]

    @property
    def is_keyed(self) -> bool:
        """Whether the first operator is keyed."""
        return any(each.shuffle is ShuffleKind.BY_KEY for each in self.inputs)


def batch_plan(plan: JobGraph) -> JobGraph:
    """Return the plan with the operators and settings of a batch job: state is in memory, without checkpoints."""
    in_memory = plan.settings.with_value(STATE_BACKEND, "hashmap")
    unsaved = in_memory.with_value(CHANGELOG, value=False).with_value(CHECKPOINT_INCREMENTAL, value=False)
    vertices = tuple(replace(vertex, operators=tuple(map(_in_batch, vertex.operators))) for vertex in plan.vertices)
    return replace(plan, vertices=vertices, settings=unsaved, checkpointing=False)


def stages(plan: JobGraph) -> tuple[Stage, ...]:
    """Return the stages of a job. Vertices are in the order of the program, so none comes before its inputs."""
    return tuple(
        Stage(
            vertex=vertex,
            inputs=tuple(
                _input(plan, index) for index, edge in enumerate(plan.edges) if edge.target_vertex == vertex.id
            ),
            targets=tuple(
                _target(plan, index) for index, edge in enumerate(plan.edges) if edge.source_vertex == vertex.id
            ),
        )
        for vertex in plan.vertices
    )


def _input(plan: JobGraph, index: int) -> Input:
    edge = plan.edges[index]
    return Input(
        edge=index,
        stage=edge.source_vertex,
        shuffle=_shuffle(plan, edge),
        index=edge.input_index,
        key_selector=edge.key_selector,
    )


def _target(plan: JobGraph, index: int) -> OutgoingEdge:
    edge = plan.edges[index]
    vertex = plan.vertices[edge.target_vertex]
    return OutgoingEdge(
        edge=index,
        shuffle=_shuffle(plan, edge),
        index=edge.input_index,
        tag=edge.tag,
        tag_type=edge.tag_type,
        key_selector=edge.key_selector,
        deals=edge.partitioning in (Partitioning.REBALANCE, Partitioning.RESCALE, Partitioning.SHUFFLE),
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
    )


def _shuffle(plan: JobGraph, edge: EdgePlan) -> ShuffleKind:
    match edge.partitioning:
        case Partitioning.KEY_GROUP:
            return ShuffleKind.BY_KEY
        case Partitioning.BROADCAST:
            return ShuffleKind.TO_ALL
        case Partitioning.FORWARD if sum(other.target_vertex == edge.target_vertex for other in plan.edges) == 1:
            return ShuffleKind.NONE
        case _:
            return ShuffleKind.BY_TASK


def _in_batch(operator: OperatorPlan) -> OperatorPlan:
    return replace(operator, factory=_factory(operator.factory))


def _factory(factory: AnyOperatorFactory) -> AnyOperatorFactory:
    match factory:
        case SourceFactory(strategy=WatermarkStrategy() as strategy):
            return replace(factory, strategy=_timestamps_only(strategy))
        case AssignFactory():
            return replace(factory, strategy=_timestamps_only(factory.strategy) or WatermarkStrategy())
        case ReduceFactory():
            return KeyedProcessFactory(FinalReduce(factory.function), errors=factory.errors)
    return factory


def _timestamps_only(strategy: WatermarkStrategy) -> WatermarkStrategy | None:
    without = WatermarkStrategy(timestamp_assigner=strategy.timestamp_assigner)
    return None if without.does_nothing else without
