"""A task of a stage: rows in, rows out, through the operators of the stage's chain.

A task with keys gets its rows sorted by key. When the key changes, all timers of the previous key fire, and its state
is removed.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, final

import pyarrow as pa

from headgate import options
from headgate.batch.inputs import TaskInput
from headgate.batch.outputs import RowsChannel, TaskOutput
from headgate.batch.stages import ShuffleKind, stages
from headgate.checkpoint.commit import PendingCommit
from headgate.clock import Clock, SystemClock
from headgate.dataflow.chain import Chain
from headgate.dataflow.output import Output
from headgate.dataflow.partition import Forward
from headgate.elements import MAX_TIMESTAMP, Barrier, Batch, Watermark
from headgate.errors import InternalError
from headgate.functions.api import KeySelector
from headgate.functions.source import NO_MORE_SPLITS
from headgate.graph.job_graph import JobGraph
from headgate.graph.logical import AnyKeySelector
from headgate.ids import Attempt, CheckpointId
from headgate.operators.base import Operator, OperatorContext, RestoredState, close_function, open_function
from headgate.operators.failure import failure_of
from headgate.operators.keyed import KeyedOperator
from headgate.operators.keys import KeySelection
from headgate.operators.outputs import OutputType
from headgate.operators.runtime_context import Runtime
from headgate.operators.services import Services
from headgate.operators.sink import COMMITTABLES_STATE, SinkOperator

CHECKPOINT: Final = CheckpointId(1)
"""The checkpoint id that sinks get for all records: a batch job has a single checkpoint, at its end."""
RESULTS: Final = pa.schema([("task", pa.int32()), ("result", pa.binary())])
"""The schema of the output of a stage without targets: pickled committables of a sink, or collected records."""


class TaskFailedError(Exception):
    """A task failed. The text explains the failure to the user, in full."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlace:
    """A task's number, the number of tasks, and the attempt. `splits` are the splits of all tasks of a source."""

    task: int
    tasks: int
    attempt: Attempt
    splits: Sequence[Any] = ()


_WAIT_S_MAX: Final = 1.0
"""Seconds that a task waits for coroutines before it checks whether the job was cancelled."""


@final
@dataclass(slots=True)
class TaskServices(Services):
    """The services of a task's operators. They have no metrics: a task that Spark runs again would count twice."""

    clock: Clock = field(default_factory=SystemClock)
    collected: list[bytes] = field(default_factory=list)
    """Pickled records that were collected and not yet taken."""
    _folder: TemporaryDirectory[str] | None = None

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Block for the delay, then call."""
        time.sleep(delay_ms / 1000.0)
        call()

    def step(self) -> None:
        """Run the operators' coroutines that are ready."""
        if self._event_loop is not None:
            self._event_loop.step()

    def wait(self) -> bool:
        """Run coroutines, after blocking for a short time until some are ready. Return whether any may remain."""
        if self._event_loop is None:
            return False
        self._event_loop.step(_WAIT_S_MAX)
        return True

    def scratch(self, uid: str) -> Path:
        """Return a folder that `close` removes."""
        self._folder = self._folder or TemporaryDirectory(prefix="headgate-")
        folder = Path(self._folder.name, uid)
        folder.mkdir(exist_ok=True)
        return folder

    def collect(self, origin: int, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        """Keep the records for the task to emit."""
        self.collected.append(records)

    def take(self) -> list[bytes]:
        """Return the collected records and remove them."""
        collected, self.collected = self.collected, []
        return collected

    def close(self) -> None:
        """Remove the folder and the remaining coroutines."""
        self.end_event_loop()
        if self._folder is not None:
            self._folder.cleanup()


@final
class StageTask:
    """One task of the stage with index `stage`, for one run."""

    def __init__(self, plan: JobGraph, stage: int, place: TaskPlace, reading: TaskInput) -> None:
        self._plan = plan
        self._stage = stages(plan)[stage]
        self._place = place
        self._reading = reading
        self._services = TaskServices()
        self._sent = TaskOutput(place.task)
        self._operators: list[Operator] = []
        self._open_selectors: list[KeySelector] = []
        self._to_close: list[tuple[Operator, Callable[[], None]]] = []
        """The functions that close opened objects, each with the operator that the object is part of."""
        self._selections: dict[int, KeySelection] = {}
        self._key: Any = None

    def run(self, rows: Iterable[pa.RecordBatch], for_all: Iterable[pa.RecordBatch] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the rows that the task emits. `for_all` are the rows that every task reads; they are read first.

        Raises `TaskFailedError`.
        """
        chain: Chain | None = None
        try:
            chain = self._open()
            for each in self._batches(chain, rows, for_all):
                self._process(chain, *each)
                yield from self._taken()
            self._end(chain)
            yield from self._taken()
            yield from self._committables()
            while self._to_close:
                chain.current, close = self._to_close.pop()
                close()
        except Exception as error:
            at_work = self._operators[-1] if chain is None else chain.current
            failure = failure_of(error, at_work.context.name, self._place.task)
            raise TaskFailedError(failure.describe()) from error
        finally:
            while self._to_close:
                with contextlib.suppress(Exception):  # a failed operator may also fail to close
                    self._to_close.pop()[1]()
            self._services.close()

    # --- the operators

    def _open(self) -> Chain:
        for plan in self._stage.vertex.operators:
            operator: Operator = plan.factory.create()
            operator.context = OperatorContext(
                job_id=self._plan.job_id,
                lineage=self._plan.lineage,
                name=plan.name,
                uid=plan.uid,
                subtask=self._place.task,
                parallelism=self._place.tasks,
                max_parallelism=self._stage.vertex.max_parallelism,
                attempt=self._place.attempt,
                checkpointing=False,
                parameters=self._plan.parameters,
                services=self._services,
                restored=RestoredState(),
                splits=list(self._place.splits[self._place.task :: self._place.tasks]),
                settings=self._plan.settings,
                output_type=plan.output_type,
                all_keys=True,
            )
            self._operators.append(operator)
            self._to_close.append((operator, operator.close))
            operator.open(operator.context)
            if operator.is_source:
                operator.add_splits(NO_MORE_SPLITS)
            operator.start()
        records = self._plan.settings.get(options.BATCH_RECORDS)
        self._selections = {
            each.index: KeySelection(self._opened(each.key_selector, self._operators[0]))
            for each in self._stage.inputs
            if each.shuffle is ShuffleKind.BY_KEY and each.key_selector is not None
        }
        return Chain(self._operators, self._outputs(records), self._services.clock, records)

    def _outputs(self, batch_records: int) -> list[Output]:
        outputs = []
        for target in self._stage.targets:
            if target.key_selector is not None:
                self._opened(target.key_selector, self._operators[-1])
            output = Output([RowsChannel(target, self._sent)], Forward(), batch_records, -1, target.tag)
            output.tag_type = OutputType.of(target.tag_type)
            outputs.append(output)
        return outputs

    def _opened(self, selector: AnyKeySelector, operator: Operator) -> AnyKeySelector:
        if isinstance(selector, KeySelector) and all(selector is not each for each in self._open_selectors):
            self._open_selectors.append(selector)
            self._to_close.append((operator, functools.partial(close_function, selector)))
            open_function(selector, Runtime(operator.context))
        return selector

    # --- records

    def _batches(
        self, chain: Chain, rows: Iterable[pa.RecordBatch], for_all: Iterable[pa.RecordBatch]
    ) -> Iterator[tuple[int, Any, Batch]]:
        """Yield the index of the input, the sort value of the key (None for no key), and records of the key."""
        head = self._operators[0]
        if head.is_source:
            for batch in self._reading.polled(head, lambda: chain.records_max):
                yield 0, None, batch
            return
        for each in itertools.chain(for_all, rows):
            yield from self._reading.runs(each)

    def _process(self, chain: Chain, index: int, key: Any, batch: Batch) -> None:
        head = self._operators[0]
        if key is not None:
            if key != self._key:
                self._end_key(chain)
                self._key = key
            batch.keys = self._reading.keys(self._selections[index], batch)
        if head.is_source:
            chain.process(batch, 0 if head.makes_watermarks else 1)
        elif index:
            chain.process_second(batch)
        else:
            chain.process(batch)
        self._settle(chain)

    def _end_key(self, chain: Chain) -> None:
        head = self._operators[0]
        if isinstance(head, KeyedOperator) and head.room is None and self._key is not None:
            self._work_off(chain)
            chain.current = head
            for out in head.end_keys(chain.records_max):
                chain.process(out, 1)
                self._settle(chain)
                chain.current = head

    def _end(self, chain: Chain) -> None:
        self._end_key(chain)
        chain.advance(Watermark(MAX_TIMESTAMP))
        self._work_off(chain)
        chain.end_input()
        chain.flush()

    def _settle(self, chain: Chain) -> None:
        """Run the chain until no element waits in it and it accepts records again."""
        self._services.step()
        while chain.waiting or chain.woken or not chain.accepts:
            self._go_on(chain)

    def _work_off(self, chain: Chain) -> None:
        """Run the chain until no inputs are pending either."""
        while chain.waiting or chain.has_pending:
            self._go_on(chain)

    def _go_on(self, chain: Chain) -> None:
        if chain.resume():
            return
        if chain.waiting and chain.can_go_on:
            chain.run()
        elif self._services.wait():
            self._reading.check()
        else:
            raise InternalError(f"operator {chain.current.context.name!r} has inputs pending that nothing ends")

    # --- what leaves

    def _taken(self) -> Iterator[pa.RecordBatch]:
        yield from self._sent.take()
        for records in self._services.take():
            yield _result(self._place.task, records)

    def _committables(self) -> Iterator[pa.RecordBatch]:
        sink = self._operators[-1]
        if not isinstance(sink, SinkOperator):
            return
        snapshot = sink.snapshot(Barrier(CHECKPOINT, self._services.clock.wall_ms()))
        snapshot.secure()
        pending: list[PendingCommit] = snapshot.lists[COMMITTABLES_STATE].values("committables", {})
        yield _result(self._place.task, pickle.dumps([each for some in pending for each in some.committables], 5))


def _result(task: int, result: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"task": [task], "result": [result]}, schema=RESULTS)
