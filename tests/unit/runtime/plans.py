"""Plans of small jobs, work on an I/O thread that is done when the test says so, and slots in the middle of both."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headgate import options
from headgate.checkpoint.store import MemoryStore
from headgate.clock import VirtualClock
from headgate.connectors.collection import CollectionSource
from headgate.dataflow.channel import InputChannel
from headgate.deploy.code.package import pack, unpack
from headgate.functions.source import Source
from headgate.graph.job_graph import JobGraph, JobOptions, plan
from headgate.graph.logical import (
    AnyKeySelector,
    AnyOperatorFactory,
    Edge,
    GraphDefaults,
    LogicalGraph,
    Node,
    Partitioning,
)
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, ChannelId, CheckpointId, JobId, Lineage, SlotIndex, SubtaskId
from headgate.operators.source import SourceFactory
from headgate.runtime.control.messages import Deploy, FromSlot, Start, ToSlot
from headgate.runtime.exchange.credit import CreditWindow
from headgate.runtime.exchange.memory import MemoryExchange, Switchboard
from headgate.runtime.slot.services import SlotServices
from headgate.runtime.slot.slot import Slot
from headgate.runtime.slot_storage.scratch import Scratch

JOB_ID = JobId("ab" * 16)
LINEAGE = Lineage("cd" * 16, 0)
M = TypeVar("M")
RUNNING: list[SlotRig] = []
"""The slots of the test that runs, which are shut down at its end."""


@dataclass
class Step:
    """One operator of a line of operators, and how its records come to it."""

    factory: AnyOperatorFactory
    partitioning: Partitioning | None = None
    key_selector: AnyKeySelector | None = None
    parallelism: int = 1


def line_plan(
    source: Source[Any] | Iterable[Any],
    *steps: Step | AnyOperatorFactory,
    settings: dict[str, Any] | None = None,
    readers: int = 1,
) -> JobGraph:
    """The plan of a source, read by so many subtasks, and the operators after it."""
    first = source if isinstance(source, Source) else CollectionSource(source)
    rest = [step if isinstance(step, Step) else Step(step) for step in steps]
    parts = [Step(SourceFactory(first), parallelism=readers), *rest]
    nodes = [
        Node(id=number, name=f"op{number}", uid=f"op{number}", operator=step.factory, parallelism=step.parallelism)
        for number, step in enumerate(parts)
    ]
    nodes[0].is_source = nodes[-1].is_sink = True
    edges = [
        Edge(source=one, target=two, partitioning=step.partitioning, key_selector=step.key_selector)
        for (one, two), step in zip(itertools.pairwise(range(len(parts))), parts[1:], strict=True)
    ]
    resolved = options.resolve(settings or {})
    checkpointing = resolved.get(options.CHECKPOINT_INTERVAL) is not None
    return plan(
        LogicalGraph(nodes, edges),
        JobOptions(
            job_id=JOB_ID,
            lineage=LINEAGE,
            job_name="a job",
            defaults=GraphDefaults(parallelism=1, buffer_timeout_ms=resolved.get(options.BUFFER_TIMEOUT)),
            settings=resolved,
            checkpointing=checkpointing,
        ),
    )


class HeldIo:
    """Work on an I/O thread, which is done when the test says so."""

    def __init__(self) -> None:
        self.held: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.held.append((work, done))

    def submit_waiting(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.submit(work, done)

    def run_one(self) -> None:
        work, done = self.held.pop(0)
        result: Any
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  # a result, as in a slot
            result = error
        done(result)

    def run(self) -> bool:
        """Do all there is; return whether there was any."""
        worked = bool(self.held)
        while self.held:
            self.run_one()
        return worked


@dataclass
class SlotRig:
    """One slot of a job, and what it tells the master."""

    plan: JobGraph
    index: int = 0
    switchboard: Switchboard = field(default_factory=dict)
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(1000.0))
    store: MemoryStore = field(default_factory=MemoryStore)
    folders: defaultdict[str, MemoryStore] = field(default_factory=lambda: defaultdict(MemoryStore))

    def __post_init__(self) -> None:
        self.io = HeldIo()
        self.sent: list[FromSlot] = []
        self.exchange = MemoryExchange(SlotIndex(self.index), self.switchboard, CreditWindow(16, 1 << 20, 16))
        package = pack(self.plan)
        services = SlotServices(
            clock=self.clock,
            io=self.io,
            store=self.store,
            open_store=self.folders.__getitem__,
            exchange=self.exchange,
            send=self.sent.append,
            scratch=Scratch(self.index),
            watch=lambda file, events, handler: None,
        )
        self.slot = Slot(lambda: unpack(package), SlotIndex(self.index), services)
        RUNNING.append(self)

    def tell(self, *messages: ToSlot) -> None:
        """Send messages and have the slot take them in."""
        for message in messages:
            self.slot.receive(message)
        self.step()

    def step(self) -> float | None:
        return self.slot.step(self.clock.monotonic_ms())

    def settle(self) -> None:
        """Step, and do work on an I/O thread, until there is nothing to do at this time."""
        while self.io.run() or self.step() == self.clock.monotonic_ms():
            pass

    def deploy(self, attempt: int = 1, *, checkpoint: int | None = None, **rest: Any) -> None:
        self.tell(deploy_of(self.plan, attempt, checkpoint=checkpoint, **rest))
        self.io.run()

    def run(self, attempt: int = 1) -> None:
        """Deploy and start an attempt."""
        self.deploy(attempt)
        self.tell(Start(attempt=Attempt(attempt)))

    def all_sent(self, kind: type[M]) -> list[M]:
        return [message for message in self.sent if isinstance(message, kind)]

    def inputs(self) -> dict[ChannelId, InputChannel]:
        """The receiving ends of the slot's channels."""
        return dict(self.exchange._inputs)


def deploy_of(plan: JobGraph, attempt: int, *, checkpoint: int | None = None, **rest: Any) -> Deploy:
    splits = {
        SubtaskId(vertex.id, 0): vertex.operators[0].factory.source.splits(1)
        for vertex in plan.vertices
        if isinstance(vertex.operators[0].factory, SourceFactory)
    }
    return Deploy(
        attempt=Attempt(attempt),
        lineage=LINEAGE,
        placement=as_programmed(plan),
        checkpoint_id=None if checkpoint is None else CheckpointId(checkpoint),
        restored=rest.pop("restored", {}),
        splits=splits if checkpoint is None else {},
        **rest,
    )
