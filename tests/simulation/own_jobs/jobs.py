"""Random small jobs: sources, stages, sinks and settings drawn from a seed, and the plan made of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from headgate import options
from headgate.functions.watermarks import WatermarkStrategy
from headgate.graph import job_graph
from headgate.graph.job_graph import JobGraph, JobOptions
from headgate.graph.logical import (
    AnyOperatorFactory,
    ChainPolicy,
    Edge,
    GraphDefaults,
    LogicalGraph,
    Node,
    Partitioning,
)
from headgate.graph.placement import PlacementPolicy, as_programmed
from headgate.ids import JobId, Lineage
from headgate.operators.async_keyed import AsyncKeyedFactory
from headgate.operators.broadcast import KeyedBroadcastFactory
from headgate.operators.collect import CollectFactory
from headgate.operators.connected import KeyedCoProcessFactory
from headgate.operators.keyed_functions import KeyedProcessFactory, ReduceFactory
from headgate.operators.plain_functions import FilterFactory, FlatMapFactory, MapFactory, ProcessFactory
from headgate.operators.sink import SinkFactory
from headgate.operators.source import SourceFactory
from headgate.testing.sim.external import SimSink
from headgate.testing.sim.job import SimRescale, simulated_id
from headgate.testing.sim.random_jobs import TOLERANT, random_settings
from headgate.testing.sim.storage import SimStore
from headgate.types.instant import Duration
from tests.simulation.own_jobs.asking import AskingFactory
from tests.simulation.own_jobs.awaiting import AwaitedCount
from tests.simulation.own_jobs.calling import CheckWatermark, NoteWatermark, calling
from tests.simulation.own_jobs.growing import all_is_read, kind_of, source_of
from tests.simulation.own_jobs.own_state import NumberInList, NumberInUnion
from tests.simulation.own_jobs.scoring import scoring
from tests.simulation.own_jobs.two_inputs import RULES, HoldBack, HoldUntilRuled, OnSide
from tests.simulation.own_jobs.user_code import (
    AtPosition,
    Copies,
    CountAndClear,
    CountInList,
    CountInValue,
    Keep,
    KeyOf,
    LastKey,
    Pass,
    SourceSpec,
    StartCount,
    add_counts,
)

_WIDTH_MAX: Final = 4
PLAIN_STAGES: Final = ("map", "filter", "flat_map", "rebalance", "broadcast")
PLAIN_COUNTERS: Final = ("value", "list", "reduce", "clearing")
COUNTERS: Final = (*PLAIN_COUNTERS, "awaiting")
TWO_INPUTS: Final = ("connected", "ruled")
NUMBERERS: Final = ("own_list", "union")
PENDING: Final = ("asking", "asking_by_key")
CALLS: Final = ("calling", "calling_by_key")
BATCHES: Final = ("scoring", "scoring_by_key")
EVENT_TIME: Final = (
    WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    .with_timestamp_assigner(AtPosition())
    .with_idleness(Duration.of_millis(30))
)
"""What some sources have, so that watermarks go through everything that records go through."""


@final
@dataclass(frozen=True, slots=True)
class SimStageSpec:
    """One operator. `keys` is the number of keys of a keyed stage, `rules` is what its second input brings."""

    kind: str
    parallelism: int
    chains: bool
    keys: int = 0
    rules: SourceSpec | None = None


@final
@dataclass(frozen=True, slots=True)
class SideSpec:
    """A second output, of what leaves stage `stage`: to a sink of its own, or to the program that waits for it."""

    stage: int
    kind: str
    parallelism: int


@final
@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job: the union of its sources goes through the stages into the sink."""

    sources: tuple[SourceSpec, ...]
    stages: tuple[SimStageSpec, ...]
    sink_parallelism: int
    settings: dict[str, Any]
    side: SideSpec | None = None
    leg: int = 0
    """How many jobs have run before, from whose state it goes on."""
    placed: PlacementPolicy = field(default=as_programmed, repr=False)
    rescales: tuple[SimRescale, ...] = field(default=(), repr=False)
    slots_max: tuple[tuple[float, int | None], ...] = field(default=(), repr=False)

    @property
    def is_exact(self) -> bool:
        """Whether each record counts exactly once; else at least once."""
        return self.settings.get("execution.checkpointing.mode") != "AT_LEAST_ONCE"

    @property
    def job_id(self) -> JobId:
        """The id of the job."""
        return simulated_id(self.leg)

    def describe(self) -> str:
        """Return the job in one line."""
        sources = " + ".join(f"{each.splits}x{each.parallelism}" for each in self.sources)
        stages = " > ".join(f"{each.kind}x{each.parallelism}" for each in self.stages)
        side = "" if self.side is None else f", stage {self.side.stage} > {self.side.kind} x{self.side.parallelism}"
        return f"{sources} > {stages} > sink x{self.sink_parallelism}{side}, {self.settings}"

    @property
    def may_drain(self) -> bool:
        """Whether no stage holds records until all input has ended."""
        return all(stage.kind != "ruled" for stage in self.stages)

    def graph(self, outside: int, start: Mapping[str, Any]) -> JobGraph:
        """Return what runs."""
        return plan_of(replace(self, settings={**self.settings, **start}), outside)

    def functions(self) -> list[str]:
        """Return the names of what user code can be made to fail in."""
        names = [f"{stage.kind}{index}" for index, stage in enumerate(self.stages)]
        numbering = [name for name, stage in zip(names, self.stages, strict=True) if stage.kind in NUMBERERS]
        return [*names, *(f"open of {name}" for name in names), *(f"snapshot of {name}" for name in numbering)]

    @property
    def grows(self) -> bool:
        """Whether a source finds splits while it is read."""
        return any(kind_of(source).grows for source in self._sources_by_uid().values())

    def is_all_read(self, store: SimStore) -> bool:
        """Return whether nothing is left for any source to read."""
        return all_is_read(self._sources_by_uid(), store)

    def _sources_by_uid(self) -> dict[str, SourceSpec]:
        rules = {f"rules{index}": stage.rules for index, stage in enumerate(self.stages) if stage.rules is not None}
        return {**{f"source{index}": source for index, source in enumerate(self.sources)}, **rules}

    def with_settings(self, leg: int, settings: Mapping[str, Any]) -> JobSpec:
        """Return the job with these settings, as one that comes to its end.

        What a stage with two inputs holds back may leave all at once, and barriers behind wait for that: where few
        checkpoints may fail, they have time. They always have where records wait for answers, a few at a time.
        """
        has_patience = settings["execution.checkpointing.tolerable-failed-checkpoints"] >= TOLERANT
        if not has_patience and any(stage.kind in TWO_INPUTS for stage in self.stages):
            settings = {**settings, "execution.checkpointing.timeout": 2_000}
        if any(stage.kind in (*PENDING, *CALLS, *BATCHES) for stage in self.stages):
            settings = {**settings, "execution.checkpointing.timeout": 5_000}
        return replace(self, leg=leg, settings=dict(settings))

    def rescaled(self, rng: random.Random) -> JobSpec:
        """Return the job at another parallelism, or the same: operators of one parallelism keep together, or not.

        What is broadcast to a stage comes out once for each of its subtasks, so that such stages stay as they are.
        """
        sizes = list(range(1, _WIDTH_MAX + 1))
        how = rng.random()
        if how > 0.3:
            rng.shuffle(sizes)
        keeps_together = how < 0.65

        def scaled(parallelism: int) -> int:
            return sizes[parallelism - 1] if keeps_together else rng.randint(1, _WIDTH_MAX)

        sources = tuple(replace(each, parallelism=scaled(each.parallelism)) for each in self.sources)
        stages = tuple(
            each if each.kind == "broadcast" else replace(each, parallelism=scaled(each.parallelism))
            for each in self.stages
        )
        sink_parallelism = scaled(self.sink_parallelism)
        side = None if self.side is None else replace(self.side, parallelism=scaled(self.side.parallelism))
        return replace(self, sources=sources, stages=stages, sink_parallelism=sink_parallelism, side=side)

    def at_side(self) -> JobSpec:
        """Return the part of the job that ends in the second output."""
        assert self.side is not None
        return replace(self, stages=self.stages[: self.side.stage + 1], side=None)


def random_job(rng: random.Random) -> JobSpec:
    """Draw a job that takes about a second of virtual time."""
    width = rng.choice((1, 2, 2, 3))
    sources = tuple(_random_source(rng, width) for _ in range(rng.choice((1, 1, 2, 3))))
    plain = [_stage(rng, rng.choice(PLAIN_STAGES), width) for _ in range(rng.choice((0, 0, 1, 2)))]
    keyed = [
        _stage(rng, kind, width, rng.randint(1, 9)) for kind in rng.choices(PLAIN_COUNTERS, k=rng.choice((0, 1, 1, 2)))
    ]
    stages: list[SimStageSpec] = plain
    for stage in keyed:
        stages.append(stage)
        if rng.random() < 0.3:
            stages.append(_stage(rng, rng.choice(("map", "rebalance")), width))
    if not stages:
        stages.append(_stage(rng, "map", width))
    if rng.random() < 0.4:
        stages.append(_stage(rng, rng.choice(NUMBERERS), width))
    side = None
    if rng.random() < 0.3:
        side = SideSpec(rng.randrange(len(stages)), rng.choice(("sink", "collect")), rng.randint(1, width))
    spec = JobSpec(sources, tuple(stages), rng.randint(1, width), random_settings(rng), side)
    # Drawn apart, so that seeds whose jobs have none of these stages go on to mean what they meant before.
    with_inputs = _with_two_inputs(random.Random(repr(spec)), spec, width)
    with_pending = _with_stage_of(PENDING, random.Random(f"pending {spec}"), with_inputs, width)
    with_calls = _with_stage_of(CALLS, random.Random(f"calls {spec}"), with_pending, width)
    with_batches = _with_stage_of(BATCHES, random.Random(f"scoring {spec}"), with_calls, width)
    return _with_awaited_counts(random.Random(f"awaiting {spec}"), with_batches)


def _with_two_inputs(rng: random.Random, spec: JobSpec, width: int) -> JobSpec:
    """Append a stage with two inputs to some jobs."""
    if rng.random() < 0.6:
        return spec
    stage = _stage(rng, rng.choice(TWO_INPUTS), width, rng.randint(1, 9))
    if stage.kind == "ruled":
        rules = SourceSpec((rng.randint(0, 20),), 1, rng.randint(1, 4), rng.choice((0.0, 20.0, 60.0)))
        stage = replace(stage, rules=rules)
    return replace(spec, stages=(*spec.stages, stage))


def _with_stage_of(kinds: tuple[str, ...], rng: random.Random, spec: JobSpec, width: int) -> JobSpec:
    """Append a stage of one of these kinds to some jobs."""
    if rng.random() < 0.8:
        return spec
    return replace(spec, stages=(*spec.stages, _stage(rng, rng.choice(kinds), width, rng.randint(1, 9))))


def _with_awaited_counts(rng: random.Random, spec: JobSpec) -> JobSpec:
    """Have coroutines keep some of the counts."""
    stages = (
        replace(stage, kind="awaiting") if stage.kind == "value" and rng.random() < 0.3 else stage
        for stage in spec.stages
    )
    return replace(spec, stages=tuple(stages))


def _random_source(rng: random.Random, width: int) -> SourceSpec:
    parallelism = rng.randint(1, width)
    is_fast = rng.random() < 0.4
    splits = tuple(rng.randint(0, 80 if is_fast else 40) for _ in range(rng.randint(1, 4)))
    if is_fast:
        return SourceSpec(splits, parallelism, rng.randint(1, 3), rng.choice((0.0, 0.0, 1.0)))
    return SourceSpec(splits, parallelism, rng.randint(1, 8), rng.uniform(5.0, 60.0))


def _stage(rng: random.Random, kind: str, width: int, keys: int = 0) -> SimStageSpec:
    return SimStageSpec(kind, rng.randint(1, width), rng.random() < 0.7, keys)


@final
@dataclass(frozen=True, slots=True)
class JobPlace:
    """Where functions find themselves: the number of their system outside, and their leg of the journey."""

    outside: int
    leg: int


# --- the plan ------------------------------------------------------------------------------------------------------


def plan_of(spec: JobSpec, outside: int) -> JobGraph:
    """Return the plan of the job; its functions, sources and sinks find the outside by its number."""
    graph = LogicalGraph()
    inputs: list[int] = []
    for index, source in enumerate(spec.sources):
        reading = SourceFactory(source_of(index, source, outside), EVENT_TIME if source.chunk % 2 else None)
        inputs.append(_add(graph, Node(id=0, name=f"source{index}", operator=reading, parallelism=source.parallelism)))
        graph.nodes[-1].is_source = True
    for index, stage in enumerate(spec.stages):
        inputs = [_add_stage(graph, stage, index, inputs, JobPlace(outside, spec.leg))]
        if spec.side is not None and spec.side.stage == index:
            factory = CollectFactory() if spec.side.kind == "collect" else SinkFactory(sink_of(spec, outside))
            _add_sink(graph, "side", factory, spec.side.parallelism, inputs[0])
    _add_sink(graph, "sink", SinkFactory(sink_of(spec, outside)), spec.sink_parallelism, inputs[0])
    settings = options.resolve(spec.settings)
    defaults = GraphDefaults(
        parallelism=1,
        max_parallelism=settings.get(options.MAX_PARALLELISM),
        buffer_timeout_ms=settings.get(options.BUFFER_TIMEOUT),
    )
    return job_graph.plan(
        graph,
        JobOptions(
            job_id=spec.job_id,
            lineage=Lineage("0" * 32, 0),
            job_name="simulated",
            defaults=defaults,
            settings=settings,
            checkpointing=True,
        ),
    )


def sink_of(spec: JobSpec, outside: int) -> SimSink:
    """Return the sink of a job, which commits in the same way on all legs of its journey."""
    rng = random.Random(f"commits of {[source.splits for source in spec.sources]}")
    return SimSink(outside, commits_globally=rng.random() < 0.4)


def _add(graph: LogicalGraph, node: Node) -> int:
    node.id = len(graph.nodes) + 1
    node.uid = node.name
    graph.nodes.append(node)
    return node.id


def _add_sink(graph: LogicalGraph, name: str, factory: AnyOperatorFactory, parallelism: int, source: int) -> None:
    node = Node(id=0, name=name, operator=factory, parallelism=parallelism, is_sink=True)
    graph.edges.append(Edge(source=source, target=_add(graph, node)))


def _add_second_input(
    graph: LogicalGraph, stage: SimStageSpec, index: int, inputs: list[int], place: JobPlace
) -> tuple[list[int], list[Edge]]:
    """Add what goes before an operator with two inputs; return its first input, and the edges (to 0) of its second."""
    if stage.rules is not None:
        reading = SourceFactory(source_of(index, stage.rules, place.outside))
        rules = _add(graph, Node(id=0, name=f"rules{index}", operator=reading, parallelism=1, is_source=True))
        return inputs, [Edge(source=rules, target=0, partitioning=Partitioning.BROADCAST, input_index=1)]
    sides = []
    for side in (0, 1):
        factory = FilterFactory(OnSide(side))
        node = Node(id=0, name=f"side{side}of{index}", operator=factory, parallelism=stage.parallelism)
        sides.append(_add(graph, node))
        graph.edges += [Edge(source=source, target=sides[side]) for source in inputs]
    keyed = Edge(
        source=sides[1],
        target=0,
        partitioning=Partitioning.KEY_GROUP,
        key_selector=KeyOf(index, stage.keys),
        input_index=1,
    )
    return [sides[0]], [keyed]


def _add_stage(graph: LogicalGraph, stage: SimStageSpec, index: int, inputs: list[int], place: JobPlace) -> int:
    name = f"{stage.kind}{index}"
    second: list[Edge] = []
    if stage.kind in TWO_INPUTS:
        inputs, second = _add_second_input(graph, stage, index, inputs, place)
    if stage.kind == "reduce":
        start = Node(id=0, name=f"{name}-start", operator=MapFactory(StartCount(index, stage.keys)))
        start.parallelism = stage.parallelism
        first = _add(graph, start)
        graph.edges += [Edge(source=source, target=first) for source in inputs]
        inputs = [first]
    factory, *others = _factories(stage, index, name, place)
    node = Node(id=0, name=name, operator=factory, parallelism=stage.parallelism)
    node.chain = ChainPolicy.ALWAYS if stage.chains else ChainPolicy.HEAD
    target = _add(graph, node)
    for source in inputs:
        edge = Edge(source=source, target=target)
        if stage.kind in (*COUNTERS, *TWO_INPUTS, "asking_by_key", "calling_by_key", "scoring_by_key"):
            selector = LastKey() if stage.kind == "reduce" else KeyOf(index, stage.keys)
            edge = Edge(source=source, target=target, partitioning=Partitioning.KEY_GROUP, key_selector=selector)
        elif stage.kind in ("rebalance", "broadcast"):
            edge = Edge(source=source, target=target, partitioning=Partitioning(stage.kind))
        graph.edges.append(edge)
    graph.edges += [replace(edge, target=target) for edge in second]
    for number, other in enumerate(others, 1):
        before, node = target, Node(id=0, name=f"{name}-{number}", operator=other, parallelism=stage.parallelism)
        target = _add(graph, node)
        graph.edges.append(Edge(source=before, target=target))
    return target


def _factories(stage: SimStageSpec, index: int, name: str, place: JobPlace) -> list[AnyOperatorFactory]:
    """Return the operators of a stage, the first with the stage's inputs, the others in one chain with it."""
    match stage.kind:
        case "calling":
            calls = calling(name, place.outside, keyed=False)
            return [ProcessFactory(NoteWatermark()), calls, ProcessFactory(CheckWatermark())]
        case "awaiting":
            return [
                AsyncKeyedFactory(AwaitedCount(index, name, place.outside)),
                ProcessFactory(CheckWatermark()),
            ]
        case _:
            return [_factory(stage, index, name, place)]


def _factory(stage: SimStageSpec, index: int, name: str, place: JobPlace) -> AnyOperatorFactory:
    outside = place.outside
    match stage.kind:
        case "filter":
            return FilterFactory(Keep())
        case "flat_map":
            return FlatMapFactory(Copies())
        case "value":
            return KeyedProcessFactory(CountInValue(index, name, outside))
        case "list":
            return KeyedProcessFactory(CountInList(index, name, outside))
        case "clearing":
            return KeyedProcessFactory(CountAndClear(index, name, outside))
        case "reduce":
            return ReduceFactory(add_counts)
        case "connected":
            return KeyedCoProcessFactory(HoldBack(index, name, outside))
        case "ruled":
            return KeyedBroadcastFactory(HoldUntilRuled(index, name, outside), (RULES,))
        case "asking" | "asking_by_key":
            return AskingFactory(name, outside, keyed=stage.kind == "asking_by_key")
        case "calling_by_key":
            return calling(name, outside, keyed=True)
        case "scoring" | "scoring_by_key":
            return scoring(name, outside, keyed=stage.kind == "scoring_by_key")
        case "own_list":
            return MapFactory(NumberInList(index, name, outside, place.leg))
        case "union":
            return MapFactory(NumberInUnion(index, name, outside, place.leg))
        case _:
            return MapFactory(Pass(name, outside))
