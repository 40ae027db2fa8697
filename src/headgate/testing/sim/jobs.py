"""Random small jobs, and what each of them must put out.

A record is `(origin, counts)`. The origin `(source, split, position, copy)` says where it comes from. Each keyed stage
adds `(stage, key, count)`, where count is the how-manieth record of its key this was. Whatever the interleaving, a job
puts out every origin as often as it should, and per key of a keyed stage the counts 1, 2, 3, ... each once (over and
over again, where a stage forgets its keys).
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, final

from headgate import options
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.graph import physical
from headgate.graph.logical import ChainPolicy, Edge, GraphDefaults, LogicalGraph, Node, OperatorFactory, Partitioning
from headgate.graph.physical import JobOptions, JobPlan
from headgate.ids import JobId
from headgate.operators.collect import CollectFactory
from headgate.operators.filter import FilterFactory
from headgate.operators.flat_map import FlatMapFactory
from headgate.operators.keyed_process import KeyedProcessFactory
from headgate.operators.map import MapFactory
from headgate.operators.reduce import ReduceFactory
from headgate.operators.sink import SinkFactory
from headgate.operators.source import SourceFactory
from headgate.state.descriptors import ValueStateDescriptor
from headgate.testing.sim.external import SimSink, system
from headgate.types.typeinfo import Types

Origin = tuple[int, int, int, int]
Record = tuple[Origin, tuple[tuple[int, Any, int], ...]]

JOB_ID: Final = JobId("5e" * 16)
PLAIN_STAGES: Final = ("map", "filter", "flat_map", "rebalance", "broadcast")
COUNTERS: Final = ("value", "list", "reduce", "clearing")
CLEARED_AT: Final = 5


@final
@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source: the number of records of each split, and how it is read."""

    splits: tuple[int, ...]
    parallelism: int
    chunk: int
    pause_ms: float


@final
@dataclass(frozen=True, slots=True)
class StageSpec:
    """One operator. `keys` is the number of keys of a keyed stage."""

    kind: str
    parallelism: int
    chains: bool
    keys: int = 0


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
    stages: tuple[StageSpec, ...]
    sink_parallelism: int
    settings: dict[str, Any]
    side: SideSpec | None = None

    def describe(self) -> str:
        """Return the job in one line."""
        sources = " + ".join(f"{each.splits}x{each.parallelism}" for each in self.sources)
        stages = " > ".join(f"{each.kind}x{each.parallelism}" for each in self.stages)
        side = "" if self.side is None else f", stage {self.side.stage} > {self.side.kind} x{self.side.parallelism}"
        return f"{sources} > {stages} > sink x{self.sink_parallelism}{side}, {self.settings}"

    def at_side(self) -> JobSpec:
        """Return the part of the job that ends in the second output."""
        assert self.side is not None
        return replace(self, stages=self.stages[: self.side.stage + 1], side=None)


def random_job(rng: random.Random) -> JobSpec:
    """Draw a job that takes about a second of virtual time."""
    width = rng.choice((1, 2, 2, 3))
    sources = tuple(_random_source(rng, width) for _ in range(rng.choice((1, 1, 2, 3))))
    plain = [_stage(rng, rng.choice(PLAIN_STAGES), width) for _ in range(rng.choice((0, 0, 1, 2)))]
    keyed = [_stage(rng, kind, width, rng.randint(1, 9)) for kind in rng.choices(COUNTERS, k=rng.choice((0, 1, 1, 2)))]
    stages: list[StageSpec] = plain
    for stage in keyed:
        stages.append(stage)
        if rng.random() < 0.3:
            stages.append(_stage(rng, rng.choice(("map", "rebalance")), width))
    if not stages:
        stages.append(_stage(rng, "map", width))
    side = None
    if rng.random() < 0.3:
        side = SideSpec(rng.randrange(len(stages)), rng.choice(("sink", "collect")), rng.randint(1, width))
    return JobSpec(sources, tuple(stages), rng.randint(1, width), _random_settings(rng), side)


def _random_source(rng: random.Random, width: int) -> SourceSpec:
    parallelism = rng.randint(1, width)
    is_fast = rng.random() < 0.4
    splits = tuple(rng.randint(0, 80 if is_fast else 40) for _ in range(rng.randint(1, 4)))
    if is_fast:
        return SourceSpec(splits, parallelism, rng.randint(1, 3), rng.choice((0.0, 0.0, 1.0)))
    return SourceSpec(splits, parallelism, rng.randint(1, 8), rng.uniform(5.0, 60.0))


def _stage(rng: random.Random, kind: str, width: int, keys: int = 0) -> StageSpec:
    return StageSpec(kind, rng.randint(1, width), rng.random() < 0.7, keys)


def _random_settings(rng: random.Random) -> dict[str, Any]:
    return {
        "execution.checkpointing.interval": rng.choice((20, 50, 100, 200)),
        "execution.checkpointing.timeout": rng.choice((400, 800, 2_000)),
        "execution.checkpointing.min-pause": rng.choice((0, 0, 30)),
        "execution.checkpointing.max-concurrent-checkpoints": rng.choice((1, 1, 2, 3)),
        "execution.checkpointing.tolerable-failed-checkpoints": rng.choice((0, 1, 5)),
        "execution.checkpointing.num-retained": rng.choice((1, 2, 3)),
        "execution.checkpointing.data-inline-threshold": rng.choice((0, 0, 60, 20_000)),
        "execution.buffer-timeout.interval": rng.choice((0, 5, 100)),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 1_000_000,
        "restart-strategy.fixed-delay.delay": rng.choice((0, 10, 100)),
        "headgate.slot.teardown-timeout": 200,
        "headgate.slot.start-timeout": 3_000,
        "headgate.batch.records": rng.choice((1, 2, 4, 16)),
        "headgate.network.credit.batches": rng.choice((1, 2, 4)),
    }


# --- the plan ------------------------------------------------------------------------------------------------------


def plan_of(spec: JobSpec, outside: int) -> JobPlan:
    """Return the plan of the job; its functions, sources and sinks find the outside by its number."""
    graph = LogicalGraph()
    inputs: list[int] = []
    for index, source in enumerate(spec.sources):
        reading = SourceFactory(SimSource(index, source))
        inputs.append(_add(graph, Node(id=0, name=f"source{index}", operator=reading, parallelism=source.parallelism)))
        graph.nodes[-1].is_source = True
    for index, stage in enumerate(spec.stages):
        inputs = [_add_stage(graph, stage, index, inputs, outside)]
        if spec.side is not None and spec.side.stage == index:
            factory = CollectFactory() if spec.side.kind == "collect" else SinkFactory(SimSink(outside))
            _add_sink(graph, "side", factory, spec.side.parallelism, inputs[0])
    _add_sink(graph, "sink", SinkFactory(SimSink(outside)), spec.sink_parallelism, inputs[0])
    settings = options.resolve(spec.settings)
    defaults = GraphDefaults(parallelism=1, buffer_timeout_ms=settings.get(options.BUFFER_TIMEOUT))
    return physical.plan(
        graph,
        JobOptions(job_id=JOB_ID, job_name="simulated", defaults=defaults, settings=settings, checkpointing=True),
    )


def _add(graph: LogicalGraph, node: Node) -> int:
    node.id = len(graph.nodes) + 1
    node.uid = node.name
    graph.nodes.append(node)
    return node.id


def _add_sink(graph: LogicalGraph, name: str, factory: OperatorFactory, parallelism: int, source: int) -> None:
    node = Node(id=0, name=name, operator=factory, parallelism=parallelism, is_sink=True)
    graph.edges.append(Edge(source=source, target=_add(graph, node)))


def _add_stage(graph: LogicalGraph, stage: StageSpec, index: int, inputs: list[int], outside: int) -> int:
    name = f"{stage.kind}{index}"
    if stage.kind == "reduce":
        start = Node(id=0, name=f"{name}-start", operator=MapFactory(StartCount(index, stage.keys)))
        start.parallelism = stage.parallelism
        first = _add(graph, start)
        graph.edges += [Edge(source=source, target=first) for source in inputs]
        inputs = [first]
    node = Node(id=0, name=name, operator=_factory(stage, index, name, outside), parallelism=stage.parallelism)
    node.chain = ChainPolicy.ALWAYS if stage.chains else ChainPolicy.HEAD
    target = _add(graph, node)
    for source in inputs:
        edge = Edge(source=source, target=target)
        if stage.kind in COUNTERS:
            selector = LastKey() if stage.kind == "reduce" else KeyOf(index, stage.keys)
            edge = Edge(source=source, target=target, partitioning=Partitioning.KEY_GROUP, key_selector=selector)
        elif stage.kind in ("rebalance", "broadcast"):
            edge = Edge(source=source, target=target, partitioning=Partitioning(stage.kind))
        graph.edges.append(edge)
    return target


def _factory(stage: StageSpec, index: int, name: str, outside: int) -> OperatorFactory:
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
        case _:
            return MapFactory(Pass(name, outside))


# --- user functions ------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class KeyOf:
    """The key of a record in a keyed stage."""

    stage: int
    keys: int

    def __call__(self, record: Record) -> Any:
        source, split, position, copy = record[0]
        key = (source * 7 + split * 5 + position * 3 + copy * (self.stage + 1)) % self.keys
        return key if self.stage % 2 else f"key-{key}"


@final
@dataclass(frozen=True)
class LastKey:
    """The key that `StartCount` has put on the record."""

    def __call__(self, record: Record) -> Any:
        return record[1][-1][1]


@final
@dataclass(frozen=True)
class StartCount:
    """Counts each record as one, for a reduce to add up."""

    stage: int
    keys: int

    def __call__(self, record: Record) -> Record:
        return record[0], (*record[1], (self.stage, KeyOf(self.stage, self.keys)(record), 1))


def add_counts(so_far: Record, record: Record) -> Record:
    """Reduce: the newer record, with its count added to those before."""
    stage, key, count = record[1][-1]
    return record[0], (*record[1][:-1], (stage, key, so_far[1][-1][2] + count))


@final
@dataclass(frozen=True)
class Keep:
    """A filter that drops some."""

    def __call__(self, record: Record) -> bool:
        return keeps(record[0])


@final
@dataclass(frozen=True)
class Copies:
    """A flat map into none, one or two."""

    def __call__(self, record: Record) -> list[Record]:
        return [(origin, record[1]) for origin in copies_of(record[0])]


@final
@dataclass(frozen=True)
class Pass:
    """A map that changes nothing."""

    name: str
    outside: int

    def __call__(self, record: Record) -> Record:
        system(self.outside).pass_through(self.name)
        return record


class CountInValue(KeyedProcessFunction):
    """Counts the records of a key in a number."""

    def __init__(self, stage: int, name: str, outside: int) -> None:
        self._stage = stage
        self._name = name
        self._outside = outside

    def open(self, runtime_context: RuntimeContext) -> None:
        system(self._outside).pass_through(f"open of {self._name}")
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> Iterable[Record]:
        system(self._outside).pass_through(self._name)
        count = self._next()
        yield value[0], (*value[1], (self._stage, ctx.get_current_key(), count))

    def _next(self) -> int:
        count: int = (self._count.value() or 0) + 1
        self._count.update(count)
        return count


@final
class CountInList(CountInValue):
    """Counts the records of a key in a list that is changed in place."""

    def _next(self) -> int:
        seen: list[int] = self._count.value() or [0]
        seen[0] += 1
        self._count.update(seen)
        return seen[0]


@final
class CountAndClear(CountInValue):
    """Counts the records of a key up to a limit, then forgets the key."""

    def _next(self) -> int:
        count: int = (self._count.value() or 0) + 1
        if count == CLEARED_AT:
            self._count.clear()
        else:
            self._count.update(count)
        return count


# --- the source ----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class SimSplit:
    """The records of a split from `position` on."""

    split: int
    position: int
    end: int


@final
class SimSource(Source[SimSplit]):
    """Several splits, read in turns, some records at a time."""

    def __init__(self, index: int, spec: SourceSpec) -> None:
        self._index = index
        self._spec = spec

    def splits(self, parallelism: int) -> list[SimSplit]:
        return [SimSplit(split, 0, end) for split, end in enumerate(self._spec.splits) if end]

    def reader(self, context: SourceContext) -> SimReader:
        return SimReader(self._index, self._spec, context)


@final
class SimReader(SourceReader[SimSplit]):
    """Reads a chunk of the next split, then pauses."""

    def __init__(self, index: int, spec: SourceSpec, context: SourceContext) -> None:
        self._index = index
        self._spec = spec
        self._context = context
        self._splits: list[SimSplit] = []
        self._ready_ms = 0.0

    def add_splits(self, splits: list[SimSplit]) -> None:
        self._splits += splits

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        now_ms = self._context.monotonic_ms()
        if now_ms < self._ready_ms:
            return NotReady(self._ready_ms)
        self._ready_ms = now_ms + self._spec.pause_ms
        split = self._splits.pop(0)
        after = min(split.end, split.position + min(self._spec.chunk, records_max))
        if after < split.end:
            self._splits.append(SimSplit(split.split, after, split.end))
        return Records([((self._index, split.split, n, 0), ()) for n in range(split.position, after)])

    def snapshot(self) -> list[SimSplit]:
        return list(self._splits)


# --- what must come out --------------------------------------------------------------------------------------------


def keeps(origin: Origin) -> bool:
    """The rule of `Keep`."""
    return origin[2] % 4 != 1


def copies_of(origin: Origin) -> list[Origin]:
    """The rule of `Copies`."""
    source, split, position, copy = origin
    return [(source, split, position, copy * 3 + n) for n in range(position % 3)]


@final
@dataclass(frozen=True)
class Output:
    """What a job puts out, in the form that all correct runs share."""

    origins: Counter[Origin]
    counts: dict[int, Counter[tuple[Any, int]]]
    """By keyed stage: how often each key came with each count."""


def expected_output(spec: JobSpec) -> Output:
    """Return what a job puts out when each record changes state exactly once."""
    origins: Counter[Origin] = Counter(
        (source, split, position, 0)
        for source, each in enumerate(spec.sources)
        for split, records in enumerate(each.splits)
        for position in range(records)
    )
    counts: dict[int, Counter[tuple[Any, int]]] = {}
    for index, stage in enumerate(spec.stages):
        if stage.kind == "filter":
            origins = Counter({origin: n for origin, n in origins.items() if keeps(origin)})
        elif stage.kind == "flat_map":
            origins = Counter({copy: n for origin, n in origins.items() for copy in copies_of(origin)})
        elif stage.kind == "broadcast":
            origins = Counter({origin: n * stage.parallelism for origin, n in origins.items()})
        elif stage.kind in COUNTERS:
            counts[index] = _counted(stage, KeyOf(index, stage.keys), origins)
    return Output(origins, counts)


def _counted(stage: StageSpec, key_of: KeyOf, origins: Counter[Origin]) -> Counter[tuple[Any, int]]:
    limit = CLEARED_AT if stage.kind == "clearing" else sys.maxsize
    totals: Counter[Any] = Counter()
    for origin, n in origins.items():
        totals[key_of((origin, ()))] += n
    return Counter((key, n % limit + 1) for key, total in totals.items() for n in range(total))


def output_of(spec: JobSpec, records: Iterable[Record]) -> Output:
    """Return the output that was found, in the form that all correct runs share."""
    keyed = [index for index, stage in enumerate(spec.stages) if stage.kind in COUNTERS]
    output = Output(Counter(), {index: Counter() for index in keyed})
    for origin, counts in records:
        output.origins[origin] += 1
        for stage, key, count in counts:
            output.counts[stage][key, count] += 1
    return output


def keeps_order(spec: JobSpec) -> int | None:
    """Return the first keyed stage, if records of a split and key reach it in order; None if they need not."""
    for index, stage in enumerate(spec.stages):
        if stage.kind in ("value", "list"):
            return index if all(before.parallelism == 1 for before in spec.stages[:index]) else None
        if stage.kind in COUNTERS:
            return None
    return None
