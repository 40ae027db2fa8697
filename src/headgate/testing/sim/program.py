"""A user's program in the simulator: its jobs, and an oracle that knows its output without faults."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, final

from headgate import options
from headgate.common.configuration import Configuration
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream.checkpointing_mode import CheckpointingMode
from headgate.datastream.data_stream import DataStream
from headgate.datastream.stream_execution_environment import StreamExecutionEnvironment
from headgate.errors import ProgramError
from headgate.graph.job_graph import JobGraph, OperatorPlan, VertexPlan
from headgate.graph.placement import PlacementPolicy, as_programmed
from headgate.ids import JobId
from headgate.operators.source import SourceFactory
from headgate.runtime.master.rescales import Bounds
from headgate.testing.sim.external import External, SimSink
from headgate.testing.sim.job import Leg, SimEnding, SimRescale, simulated_id
from headgate.testing.sim.storage import SimStore

_SHOWN: Final = 3


def each_record(records: list[Any]) -> Counter[Hashable]:
    """Return how often each record occurs: the outcome of a stream whose records do not depend on their order.

    >>> each_record(["b", "a", "b"]) == each_record(["b", "b", "a"])
    True
    """
    return Counter(map(_hashable, records))


def _hashable(value: Any) -> Hashable:
    """Return the value, or a hashable stand-in that is equal for equal values."""
    try:
        hash(value)
    except TypeError:
        return _frozen(value)
    return value  # type: ignore[no-any-return]


def _frozen(value: Any) -> Hashable:
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(_hashable, value))
    if isinstance(value, Mapping):
        return frozenset((_hashable(key), _hashable(each)) for key, each in value.items())
    if isinstance(value, AbstractSet):
        return frozenset(map(_hashable, value))
    return repr(value)


def difference(expected: object, found: object) -> str:
    """Return a description of the difference between `expected` and `found`."""
    if isinstance(expected, Counter) and isinstance(found, Counter):
        missing, surplus = expected - found, found - expected
        return f"{missing.total()} missing {_some(missing)}, {surplus.total()} too many {_some(surplus)}"
    return f"expected {expected!r}, found {found!r}"


def _some(counter: Counter[Any]) -> str:
    return str(sorted(counter, key=repr)[:_SHOWN])


Streams = DataStream | Mapping[str, DataStream]
Program = Callable[[StreamExecutionEnvironment], Streams]
"""Builds a program in an environment, without running it; returns the stream, or the streams by name, to compare."""
Outcome = Callable[[list[Any]], object]
"""Computes, from all records of a stream in any order, a value that must be the same under all faults."""

_WIDTH_MAX: Final = 3
_APART_MS: Final = (30.0, 400.0)
"""Bounds of the time between two requests for another parallelism."""
_TIMEOUT: Final = "execution.checkpointing.timeout"
_PROGRAMS_OWN: Final = ("execution.checkpointing.mode", "pipeline.max-parallelism")
"""Settings that keep the value that the program sets."""


@final
@dataclass(frozen=True, slots=True)
class UserJob:
    """A user's program at some parallelism, with random settings (`SimJob`)."""

    program: Program
    settings: Mapping[str, object] = field(default_factory=dict)
    parallelism: int = 1
    records_per_second: float = 1_000.0
    leg: int = 0
    rescales: tuple[SimRescale, ...] = ()

    @property
    def job_id(self) -> JobId:
        """Its id."""
        return simulated_id(self.leg)

    @property
    def placed(self) -> PlacementPolicy:
        """The program sets the parallelism."""
        return as_programmed

    @property
    def is_exact(self) -> bool:
        """The outcome must be the same in every mode."""
        return True

    @property
    def may_drain(self) -> bool:
        """Timers that fire at the end of event time would change the outcome."""
        return False

    @property
    def grows(self) -> bool:
        """All sources end."""
        return False

    @property
    def slots_max(self) -> tuple[()]:
        """Any number."""
        return ()

    def describe(self) -> str:
        """Return the job in one line."""
        return f"parallelism {self.parallelism}, {self.records_per_second:.0f} records/s, {dict(self.settings)}"

    def graph(self, outside: int, start: Mapping[str, object]) -> JobGraph:
        """Return the graph, with a sink at each stream that the program returned. Raises ProgramError."""
        env = _environment()
        streams = _named(self.program(env))
        for name, stream in streams.items():
            _check_uid(name, stream)
            stream.sink_to(SimSink(outside)).name(name).uid(name)
        settings = {**self._settings_of(env, sinks=len(streams)), **start}
        env.configure(Configuration.from_dict({key: str(value) for key, value in settings.items()}))
        graph = env.job_graph("simulated")
        return replace(graph, vertices=tuple(map(self._slowed, graph.vertices)))

    def _slowed(self, vertex: VertexPlan) -> VertexPlan:
        return replace(vertex, operators=tuple(map(self._at_its_rate, vertex.operators)))

    def _at_its_rate(self, operator: OperatorPlan) -> OperatorPlan:
        if not isinstance(operator.factory, SourceFactory):
            return operator
        source = operator.factory.source
        if not source.bounded:
            raise ProgramError(
                f"{operator.name!r} never ends: give the simulator a program that reads a few hundred records, "
                "for instance with from_collection(...)"
            )
        limited = RateLimitedSource(source, self.records_per_second)
        return replace(operator, factory=replace(operator.factory, source=limited))

    def _settings_of(self, env: StreamExecutionEnvironment, *, sinks: int) -> dict[str, object]:
        drawn = dict(self.settings)
        timeout_ms = drawn.get(_TIMEOUT)
        if isinstance(timeout_ms, int):
            drawn[_TIMEOUT] = timeout_ms * sinks  # each sink takes a while to secure its results
        if env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE:
            drawn = {key: value for key, value in drawn.items() if "aligned" not in key}
        return {
            **drawn,
            "parallelism.default": self.parallelism,
            "headgate.job.id": self.job_id,
        }

    def functions(self) -> list[str]:
        """Return the names of the sinks: a failure of other user code has the same effect."""
        return list(_named(self.program(_environment())))

    def is_all_read(self, store: SimStore) -> bool:
        """Return False: all sources end."""
        return False

    def with_settings(self, leg: int, settings: Mapping[str, object]) -> UserJob:
        """Return the job with these settings, except the settings that the program keeps."""
        return replace(self, leg=leg, settings={key: settings[key] for key in settings if key not in _PROGRAMS_OWN})

    def rescaled(self, rng: random.Random) -> UserJob:
        """Return the job at another default parallelism, or the same."""
        return replace(self, parallelism=rng.randint(1, _WIDTH_MAX))

    def rescaled_as_it_runs(self, rng: random.Random) -> UserJob:
        """Return the job with random requests for other default parallelisms while it runs; there may be none."""
        rescales: list[SimRescale] = []
        after_ms = 0.0
        for _ in range(rng.choice((0, 1, 2, 3))):
            after_ms += rng.uniform(*_APART_MS)
            rescales.append(SimRescale(after_ms, partial(self._bounds, rng.randint(1, _WIDTH_MAX))))
        return replace(self, rescales=tuple(rescales))

    def _bounds(self, parallelism: int, graph: JobGraph) -> Bounds:
        """Return the parallelism of each vertex under this default. Chains stay, so the lowest in a chain counts."""
        other = replace(self, parallelism=parallelism).graph(0, {})
        widths = {operator.uid: vertex.parallelism for vertex in other.vertices for operator in vertex.operators}
        counts = {vertex.id: min(widths[operator.uid] for operator in vertex.operators) for vertex in graph.vertices}
        return {vertex: (count, count) for vertex, count in counts.items()}


@final
@dataclass(frozen=True, slots=True)
class UserProgram:
    """A user's program on a journey, and the outcomes of its streams (`SimProgram`)."""

    legs: tuple[Leg[UserJob], ...]
    outcome: Outcome
    expected: Mapping[str, object]

    def judge(self, ending: SimEnding[UserJob]) -> Iterator[str]:
        """Yield errors in the output; a job that was cancelled may have emitted any part of it."""
        return iter(()) if ending.was_cancelled else self._compare(ending.outside)

    def judge_fork(self, job: UserJob, outside: External) -> Iterator[str]:
        """Yield errors in the output of a job that continued from a savepoint on the way."""
        return self._compare(outside)

    def _compare(self, outside: External) -> Iterator[str]:
        for name, expected in self.expected.items():
            found = self.outcome(outside.records_of(name))
            if found != expected:
                yield f"stream {name!r} differs: {difference(expected, found)}"


def _environment() -> StreamExecutionEnvironment:
    """Return an environment that starts no Spark, even if the program executes a job of its own."""
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({options.DEPLOY_TARGET.key: "minicluster"})
    )


def _named(streams: Streams) -> dict[str, DataStream]:
    named = streams.items() if isinstance(streams, Mapping) else [("output", streams)]
    return {_checked_name(name): _checked_stream(stream) for name, stream in named}


def _check_uid(name: str, stream: DataStream) -> None:
    """Check that no operator of the program has the uid of the simulator's sink. Raises ProgramError."""
    for node in stream._program.graph().nodes:
        if node.uid == name:
            raise ProgramError(
                f"operator {node.name!r} has the uid {name!r}, which simulate() gives to its sink behind operator "
                f"{stream.get_name()!r}: give the operator another uid, or return the stream under another name, as "
                f"{{'another': stream}}"
            )


def _checked_name(name: object) -> str:
    if isinstance(name, str) and name.isidentifier():
        return name
    raise ProgramError(f"{name!r} cannot be the name of a stream: use letters, digits and _")


def _checked_stream(stream: object) -> DataStream:
    if isinstance(stream, DataStream):
        return stream
    raise ProgramError(
        f"the program returned {stream!r}, but the simulator needs a DataStream, or a dict of them by name: return the "
        "stream whose records are to be compared, and do not execute the program"
    )
