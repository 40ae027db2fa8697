"""Random programs: drawn as a list of steps, so that one can be built for each mode, and shown when modes differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from hypothesis import strategies as st

from headgate.common import Duration, WatermarkStrategy
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import DataStream, StreamExecutionEnvironment
from tests.property.program_functions import (
    ANY,
    KEYS,
    RULES,
    SIDE,
    Aside,
    ByRules,
    FlatMapBoth,
    Gather,
    GatherBoth,
    GatherByKey,
    MapBoth,
    ProcessBoth,
    Record,
    Running,
    Spans,
    WithRules,
)


@dataclass(frozen=True)
class Input:
    """A source. `strategy` is where event time comes from: it never passes a record that is still to come."""

    records: tuple[Record, ...]
    strategy: str
    generated: bool
    parallelism: int


@dataclass(frozen=True)
class Step:
    """An operator on earlier streams, and a number for it to go by. A `read` one has its output read by a sink."""

    kind: str
    inputs: tuple[int, ...]
    number: int
    key: str
    parallelism: int
    read: bool


@dataclass(frozen=True)
class Program:
    """Sources are the first streams; each step adds one, or two."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    chaining: bool
    max_parallelism: int
    batch_records: int


@dataclass(frozen=True)
class Known:
    """What is known of a stream: whether its records come in one order in either mode, and have timestamps.

    A rolling aggregate emits each change in one mode and the last in the other: only a sink reads that.
    """

    ordered: bool
    timed: bool
    rolling: bool = False


Build = Callable[[list[DataStream], Step], "DataStream | tuple[DataStream, DataStream]"]


def _keyed(stream: DataStream, step: Step) -> Any:
    return stream.key_by(KEYS[step.key])


def _with_side(stream: DataStream) -> tuple[DataStream, DataStream]:
    return stream, stream.get_side_output(SIDE)


def _restamped(streams: list[DataStream], step: Step) -> DataStream:
    late = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_days(1))
    turned = late.with_timestamp_assigner(lambda record, _: 1_000 - record[0] % 1_000 + record[2] % 5)
    return streams[0].assign_timestamps_and_watermarks(turned)


def _pairs(streams: list[DataStream]) -> Any:
    return streams[0].map(lambda record: (record[1], record[2])).key_by(lambda pair: pair[0])


PLAIN: Final[dict[str, Build]] = {
    "map": lambda streams, step: streams[0].map(lambda r: (r[0], (r[1] * step.number + 1) % 9, r[2] + step.number)),
    "flat map": lambda streams, step: streams[0].flat_map(
        lambda r: [(r[0], r[1], r[2] + i) for i in range((r[2] + step.number) % 3)]
    ),
    "filter": lambda streams, step: streams[0].filter(lambda r: (r[2] + step.number) % 4 != 0),
    "process": lambda streams, step: _with_side(streams[0].process(Aside(), ANY)),
    "rebalance": lambda streams, step: streams[0].rebalance().map(lambda r: r),
    "rescale": lambda streams, step: streams[0].rescale().map(lambda r: r),
    "custom": lambda streams, step: (
        streams[0].partition_custom(lambda key, count: (key + step.number) % count, lambda r: r[2]).map(lambda r: r)
    ),
    "restamp": _restamped,
}
"""What leaves the order of records as it is, though not their times."""
MERGING: Final[dict[str, Build]] = {
    "union": lambda streams, step: streams[0].union(streams[1]).map(lambda r: r),
    "connect, map": lambda streams, step: streams[0].connect(streams[1]).map(MapBoth()),
    "connect, flat map": lambda streams, step: streams[0].connect(streams[1]).flat_map(FlatMapBoth()),
    "connect, process": lambda streams, step: _with_side(streams[0].connect(streams[1]).process(ProcessBoth())),
    "connect, broadcast": lambda streams, step: streams[0].connect(streams[1].broadcast(RULES)).process(WithRules()),
    "connect, keyed": lambda streams, step: (
        streams[0].connect(streams[1]).key_by(KEYS[step.key], KEYS[step.key]).process(GatherBoth())
    ),
    "connect, keyed and broadcast": lambda streams, step: _with_side(
        _keyed(streams[0], step).connect(streams[1].broadcast(RULES)).process(ByRules())
    ),
}
KEYED: Final[dict[str, Build]] = {
    "gather": lambda streams, step: _with_side(_keyed(streams[0], step).process(GatherByKey(step.number))),
    "spans": lambda streams, step: _keyed(streams[0], step).process(Spans()),
    "keyed map": lambda streams, step: _keyed(streams[0], step).map(lambda r: (r[0], r[1], r[2] * 2)),
    "keyed filter": lambda streams, step: _keyed(streams[0], step).filter(lambda r: r[2] % 3 != step.number % 3),
    "keyed flat map": lambda streams, step: _keyed(streams[0], step).flat_map(lambda r: [r] * (r[2] % 3)),
    "broadcast": lambda streams, step: streams[0].broadcast().map(lambda r: r),
}
RUNNING: Final[dict[str, Build]] = {"running": lambda streams, step: _keyed(streams[0], step).process(Running())}
ROLLING: Final[dict[str, Build]] = {
    "reduce": lambda streams, step: _pairs(streams).reduce(lambda a, b: (a[0], (a[1] + b[1]) % 1009)),
    "sum": lambda streams, step: _pairs(streams).sum(1),
    "min": lambda streams, step: _pairs(streams).min(1),
    "max": lambda streams, step: _pairs(streams).max(1),
    "min by": lambda streams, step: _pairs(streams).min_by(1),
    "max by": lambda streams, step: _pairs(streams).max_by(1),
}
STEPS: Final = PLAIN | MERGING | KEYED | RUNNING | ROLLING
TWO_OUTPUTS: Final = {"process", "connect, process", "connect, keyed and broadcast", "gather"}


def known_of(step: Step, inputs: list[Known]) -> Known:
    """Return what is known of the outputs of a step."""
    timed = all(each.timed for each in inputs)
    ordered = inputs[0].ordered and step.parallelism == 1
    if step.kind == "restamp":
        return Known(ordered=False, timed=True)
    if step.kind in PLAIN:
        return Known(ordered=ordered, timed=timed)
    if step.kind in RUNNING or step.kind in ("keyed map", "keyed filter", "keyed flat map"):
        return Known(ordered=ordered and timed, timed=timed)
    return Known(ordered=False, timed=timed, rolling=step.kind in ROLLING)


End = Callable[[DataStream, str, int | None], None]
"""What is done with an output: the stream, its name, and the parallelism for its sink, None: that of the program."""


def build(program: Program, env: StreamExecutionEnvironment, end: End | None = None) -> dict[str, Known]:
    """Add the program to an environment, and `end` (None: a sink of this process) to each of its outputs.

    Return what is known of each output.
    """
    end = _gather if end is None else end
    env.set_max_parallelism(program.max_parallelism).set_parallelism(2)
    if not program.chaining:
        env.disable_operator_chaining()
    streams = [(_source(env, each), _known_of_source(each)) for each in program.inputs]
    outputs: dict[str, Known] = {}
    read: set[int] = set()
    for number, step in enumerate(program.steps):
        made = STEPS[step.kind]([streams[at][0] for at in step.inputs], step)
        made_known = known_of(step, [streams[at][1] for at in step.inputs])
        both = made if isinstance(made, tuple) else (made,)
        both[0].set_parallelism(step.parallelism)
        read.update(step.inputs)
        if step.read or made_known.rolling:
            name = f"{number} {step.kind}"
            end(both[0], name, step.parallelism)
            outputs[name] = made_known
            read.add(len(streams))
        streams += [(stream, made_known) for stream in both]
    for at, (stream, known) in enumerate(streams):
        if at not in read:
            end(stream, f"stream {at}", None)
            outputs[f"stream {at}"] = known
    return outputs


def _gather(stream: DataStream, name: str, parallelism: int | None) -> None:
    sink = stream.add_sink(Gather(name))
    if parallelism is not None:
        sink.set_parallelism(parallelism)


def _source(env: StreamExecutionEnvironment, source: Input) -> DataStream:
    strategies = {
        "none": None,
        "last": WatermarkStrategy.for_monotonous_timestamps(),
        "far behind": WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_days(1)),
    }
    strategy = strategies[source.strategy]
    if strategy is not None:
        strategy = strategy.with_timestamp_assigner(lambda record, _: record[0])
    if source.generated:
        made = DataGeneratorSource(source.records.__getitem__, len(source.records))
        return env.from_source(made, strategy, "generated").set_parallelism(source.parallelism)
    stream = env.from_collection(list(source.records))
    return stream if strategy is None else stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1)


def _known_of_source(source: Input) -> Known:
    ordered = not source.generated or source.parallelism == 1
    return Known(ordered=ordered, timed=source.strategy != "none")


@st.composite
def inputs(draw: st.DrawFn) -> Input:
    """A source of few records, in the order of their times, of which no two are the same."""
    gaps = draw(st.lists(st.tuples(st.integers(1, 15), st.integers(0, 6), st.integers(0, 99)), max_size=25))
    time, records = 0, list[Record]()
    for gap, key, value in gaps:
        time += gap
        records.append((time, key, value))
    return Input(
        tuple(records),
        draw(st.sampled_from(["none", "last", "far behind"])),
        draw(st.booleans()),
        draw(st.integers(1, 3)),
    )


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program of one source to three, and of some steps."""
    sources = draw(st.lists(inputs(), min_size=1, max_size=3))
    streams = [_known_of_source(each) for each in sources]
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 7))):
        readable = [at for at, known in enumerate(streams) if not known.rolling]
        first, second = draw(st.sampled_from(readable)), draw(st.sampled_from(readable))
        step = Step(
            kind=draw(st.sampled_from(_possible(streams[first], distinct=first != second))),
            inputs=(first, second),
            number=draw(st.integers(0, 31)),
            key=draw(st.sampled_from(sorted(KEYS))),
            parallelism=draw(st.integers(1, 4)),
            read=draw(st.booleans()),
        )
        step = replace(step, inputs=(first, second) if step.kind in MERGING else (first,))
        known = known_of(step, [streams[at] for at in step.inputs])
        streams += [known] * (2 if step.kind in TWO_OUTPUTS else 1)
        steps.append(step)
    return Program(
        inputs=tuple(sources),
        steps=tuple(steps),
        chaining=draw(st.booleans()),
        max_parallelism=draw(st.sampled_from([4, 7, 128])),
        batch_records=draw(st.sampled_from([1, 3, 1024])),
    )


def _possible(first: Known, *, distinct: bool) -> list[str]:
    kinds = [*PLAIN, *KEYED, *ROLLING]
    if distinct:
        kinds += MERGING
    if first.ordered:
        kinds += RUNNING
    return kinds
