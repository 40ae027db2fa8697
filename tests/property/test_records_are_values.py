"""Each receiver sees a record as it was emitted, and what it does to the record is seen by no other.

The oracle calls the same functions, one step after the other, and copies each record deeply when it is emitted and when
it is received.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.datastream import DataStream, FlatMapFunction, MapFunction, ProcessFunction
from headgate.datastream.functions import KeyedProcessFunction, RuntimeContext
from headgate.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types
from tests.property.program_functions import SEEN, Gather
from tests.sample_size import sample_size
from tests.unit.datastream.environments import environment

ANY: Final = Types.PICKLED_BYTE_ARRAY()
SIDE: Final = OutputTag("side", ANY)

Record = dict[str, Any]
Step = Callable[[Record], Iterable[Any]]


class Function:
    """What a function does with each record. `memory` is what one instance of it keeps."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.memory: list[Any] = []
        self.numbers = count()

    def __reduce__(self) -> Any:
        return Function, (self.name,)

    def __call__(self, value: Record) -> Iterable[Any]:
        return getattr(self, self.name)(value)  # type: ignore[no-any-return]

    def twice(self, value: Record) -> Iterator[Record]:
        yield value
        value["tags"].append("between")
        yield value
        value["n"] = -1

    def kept(self, value: Record) -> Iterator[Record]:
        for old in self.memory:
            old["tags"].append("kept")
            old["n"] += 100
        self.memory = [value]
        yield value

    def closure(self, value: Record) -> Iterator[Record]:
        def later(of: Record = value) -> None:
            of["tags"].append("closure")

        yield value
        later()
        self.memory.append(later)
        for each in self.memory[-3:]:
            each()

    def shared_part(self, value: Record) -> Iterator[Any]:
        self.memory.append(value["n"])
        yield {"k": value["k"], "n": value["n"], "tags": self.memory}

    def change_input(self, value: Record) -> list[Record]:
        value["tags"].append("input")
        value["new"] = [value["n"]]
        return [{"k": value["k"], "n": len(value["tags"]), "tags": []}]

    def same_input(self, value: Record) -> list[Record]:
        value["tags"].append("same")
        return [value]

    def own_list(self, value: Record) -> list[Record]:
        self.memory.append(value)
        self.memory[0]["tags"].append("own list")
        del self.memory[:-2]
        return self.memory

    def one_twice(self, value: Record) -> list[Record]:
        return [value, value]

    def inner(self, value: Record) -> Iterator[Record]:
        tags = value["tags"]
        yield {"k": value["k"], "n": 0, "tags": tags}
        tags.append("inner")
        yield {"k": value["k"], "n": 1, "tags": tags}

    def nothing(self, value: Record) -> None:
        value["tags"].append("nothing")
        self.memory.append(value)


MANY: Final = [name for name in vars(Function) if not name.startswith("_")]
ONE: Final = ["same_input", "change_input", "kept_one"]


class One(Function):
    """The functions that return one record."""

    def __reduce__(self) -> Any:
        return One, (self.name,)

    def kept_one(self, value: Record) -> list[Record]:
        for old in self.memory:
            old["tags"].append("kept one")
        self.memory.append(value)
        del self.memory[:-2]
        return [self.memory[0]]


class Mapped(MapFunction):
    def __init__(self, function: One) -> None:
        self.function = function

    def map(self, value: Record) -> Any:
        (result,) = self.function(value)
        return result


class FlatMapped(FlatMapFunction):
    def __init__(self, function: Function) -> None:
        self.function = function

    def flat_map(self, value: Record) -> Any:
        return self.function(value)


class Processed(ProcessFunction):
    def __init__(self, function: Function) -> None:
        self.function = function

    def process_element(self, value: Record, ctx: Any) -> Any:
        return self.function(value)


class Keyed(KeyedProcessFunction):
    """Emits what its state holds, and changes that afterwards."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.profile = runtime_context.get_state(ValueStateDescriptor("profile", ANY))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", ANY))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        profile = self.profile.value() or {"k": value["k"], "n": 0, "tags": []}
        profile["n"] += 1
        profile["tags"] = [*profile["tags"], value["n"]][-3:]
        self.profile.update(profile)
        self.seen.add(value)
        yield profile
        yield value
        yield {"k": value["k"], "n": 0, "tags": [each["n"] for each in self.seen.get()]}


class KeyedOracle:
    """`Keyed` with a state that nobody shares."""

    def __init__(self) -> None:
        self.profiles: dict[Any, Record] = {}
        self.seen: dict[Any, list[Record]] = {}

    def __call__(self, value: Record) -> Iterator[Record]:
        key = value["k"]
        profile = self.profiles.setdefault(key, {"k": key, "n": 0, "tags": []})
        profile["n"] += 1
        profile["tags"] = [*profile["tags"], value["n"]][-3:]
        self.seen.setdefault(key, []).append(copy.deepcopy(value))
        yield profile
        yield value
        yield {"k": key, "n": 0, "tags": [each["n"] for each in self.seen[key]]}


class Reducing:
    """`reduce` with a function that changes its first argument, or its second."""

    def __init__(self) -> None:
        self.so_far: dict[Any, Record] = {}

    def __call__(self, value: Record) -> list[Record]:
        key = value["k"]
        before = self.so_far.get(key)
        self.so_far[key] = copy.deepcopy(value if before is None else reduced(before, value))
        return [self.so_far[key]]


def reduced(so_far: Record, value: Record) -> Record:
    so_far["tags"].extend(value["tags"][:2])
    value["tags"].append("reduced")
    so_far["n"] += value["n"]
    return so_far


class Sides(ProcessFunction):
    """Emits each record on both outputs, and changes it in between and afterwards."""

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        yield value
        value["tags"].append("main")
        yield SIDE, value
        value["tags"].append("side")


class Selected(Function):
    """A filter that keeps what it has seen, and changes it."""

    def __reduce__(self) -> Any:
        return Selected, (self.name,)

    def test(self, value: Record) -> bool:
        for old in self.memory:
            old["tags"].append("filtered")
        self.memory = [value]
        value["tags"].append("tested")
        return bool(value["n"] % 3)


def selected(function: Selected) -> Step:
    return lambda value: [value] if function.test(value) else []


@dataclass(frozen=True)
class Stage:
    """One operator of the program."""

    kind: str
    name: str = ""


plain = st.one_of(
    st.builds(Stage, st.just("map"), st.sampled_from(ONE)),
    st.builds(Stage, st.just("flat_map"), st.sampled_from(MANY)),
    st.builds(Stage, st.just("process"), st.sampled_from(MANY)),
    st.just(Stage("filter")),
)
FANS: Final = [Stage("twins"), Stage("sides"), Stage("union")]
"""Stages whose results come in any order: only a stage without memory follows."""
ENDS: Final = [Stage("map", "same_input"), Stage("map", "change_input"), Stage("flat_map", "twice")]


@st.composite
def programs(draw: st.DrawFn, keyed: list[Stage]) -> list[Stage]:
    middle = draw(st.lists(st.sampled_from(keyed), max_size=1))
    fans = draw(st.lists(st.sampled_from(FANS), max_size=2, unique=True))
    return [*draw(st.lists(plain, max_size=3)), *middle, *fans, *draw(st.lists(st.sampled_from(ENDS), max_size=1))]


@st.composite
def inputs(draw: st.DrawFn) -> list[Record]:
    """Records of which some share a part, and some are one object."""
    shared = [0]
    made: list[Record] = []
    for _ in range(draw(st.integers(1, 7))):
        how = draw(st.sampled_from(["own", "shared", "same"]))
        if how == "same" and made:
            made.append(made[-1])
        else:
            tags = shared if how == "shared" else []
            made.append({"k": draw(st.integers(0, 2)), "n": draw(st.integers(0, 9)), "tags": tags})
    return made


def expected(program: list[Stage], records: list[Record]) -> list[Any]:
    """Return what comes out if each record is copied on its way."""
    for stage in program:
        if stage.kind == "union":
            records = [copy.deepcopy(record) for record in records for _ in range(2)]
        elif stage.kind == "twins":
            once, other = _through(Function("same_input"), records), _through(Function("twice"), records)
            records = [*once, *other]
        elif stage.kind == "sides":
            sides = _through(lambda value: Sides().process_element(value, None), records)
            records = [each[1] if type(each) is tuple else each for each in sides]
        else:
            records = _through(_oracle(stage), records)
    return records


def _oracle(stage: Stage) -> Step:
    match stage.kind:
        case "map":
            return One(stage.name)
        case "filter":
            return selected(Selected("test"))
        case "keyed":
            return KeyedOracle()
        case "reduce":
            return Reducing()
        case _:
            return Function(stage.name)


def _through(function: Step, records: list[Record]) -> list[Any]:
    out: list[Any] = []
    for record in records:
        for result in function(copy.deepcopy(record)) or ():
            out.append(copy.deepcopy(result))  # before the function goes on
    return out


def applied(stream: DataStream, stage: Stage) -> DataStream:
    match stage.kind:
        case "map":
            return stream.map(Mapped(One(stage.name)))
        case "flat_map":
            return stream.flat_map(FlatMapped(Function(stage.name)))
        case "process":
            return stream.process(Processed(Function(stage.name)))
        case "filter":
            return stream.filter(Selected("test").test)
        case "keyed":
            return stream.key_by(key_of).process(Keyed())
        case "reduce":
            return stream.key_by(key_of).reduce(reduced)
        case "union":
            return stream.union(stream)
        case "twins":
            twin = stream.flat_map(FlatMapped(Function("twice")))
            return stream.flat_map(FlatMapped(Function("same_input"))).union(twin)
        case _:
            main = stream.process(Sides())
            return main.union(main.get_side_output(SIDE))


def key_of(value: Record) -> Any:
    return value["k"]


def comparable(records: list[Any]) -> list[str]:
    return sorted(map(repr, records))


def run(program: list[Stage], records: list[Record], **options: str) -> list[Any]:
    env = environment(**options)
    env.set_parallelism(1)
    stream: DataStream = env.from_collection(records)
    for stage in program:
        stream = applied(stream, stage)
    SEEN.clear()
    stream.add_sink(Gather("out"))
    env.execute()
    return SEEN["out"]


@pytest.mark.slow
@settings(max_examples=sample_size(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs([Stage("keyed"), Stage("reduce")]), inputs(), st.integers(1, 5), st.booleans())
def test_a_stream_passes_values(program: list[Stage], records: list[Record], size: int, chained: bool) -> None:
    options = {"headgate.batch.records": str(size), "pipeline.operator-chaining.enabled": str(chained).lower()}
    wanted = expected(program, records)
    assert comparable(run(program, records, **options)) == comparable(wanted)


@pytest.mark.slow
@settings(max_examples=sample_size(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs([Stage("keyed")]), inputs(), st.integers(1, 5))
def test_a_batch_job_passes_values(program: list[Stage], records: list[Record], size: int) -> None:
    options = {"headgate.batch.records": str(size), "execution.runtime-mode": "BATCH"}
    wanted = expected(program, records)
    assert comparable(run(program, records, **options)) == comparable(wanted)
