"""Source: the head of a chain that reads a `Source`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from headgate.elements import Barrier, Batch, Flow
from headgate.errors import ProgramError
from headgate.functions.source import EndOfInput, NotReady, Poll, Records, Source, SourceReader
from headgate.functions.watermarks import WatermarkStrategy
from headgate.operators.base import Operator, OperatorContext, OperatorSnapshot, expect
from headgate.operators.watermarks import WatermarkMaker
from headgate.state.operator.list_elements import ListElements

if TYPE_CHECKING:
    import pyarrow as pa

SPLITS_STATE: Final = "splits"


@final
class SourceOperator(Operator):
    """Polls the reader of one subtask, and keeps its splits as operator state.

    With a strategy, what was polled gets its timestamps and watermarks here.
    """

    def __init__(self, source: Source[Any], strategy: WatermarkStrategy | None = None) -> None:
        self._source = source
        self._strategy = strategy
        self.makes_watermarks = strategy is not None

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        if self._strategy is not None:
            self._maker = WatermarkMaker.of(self._strategy, context)
            self.wake_ms = self._maker.wake_ms
        reader = self._source.reader(_Context(context))
        self._reader: SourceReader[Any] = expect(SourceReader, reader, self._source, "reader()")
        is_restored = SPLITS_STATE in context.restored.lists
        splits = context.restored.values(SPLITS_STATE) if is_restored else context.splits or []
        self._reader.add_splits(splits)

    def poll(self, records_max: int) -> Batch | NotReady | EndOfInput:
        """Return the next records, when to try again, or that there are no more.

        Raises `SourceError`, and `ProgramError` for what the protocol does not allow.
        """
        polled: Poll = self._reader.poll(records_max)
        if isinstance(polled, (NotReady, EndOfInput)):
            return polled
        records = expect(Records, polled, self._reader, "poll()").records
        batch = Batch(records if isinstance(records, list) else _rows(records), polled.timestamps)
        if batch.timestamps is not None and len(batch.timestamps) != len(batch):
            raise ProgramError(
                f"poll() of {type(self._reader).__name__} returned {len(batch.timestamps)} timestamps for {len(batch)} "
                "records, but must return one for each, or None"
            )
        return batch

    def mark(self, batch: Batch) -> list[Flow]:
        marked = self._maker.mark(batch)
        self.wake_ms = self._maker.wake_ms
        return marked

    def tick(self, now_ms: float) -> list[Flow]:
        ticked = self._maker.tick(now_ms)
        self.wake_ms = self._maker.wake_ms
        return ticked

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        splits = ListElements.of(expect(list, self._reader.snapshot(), self._reader, "snapshot()"))
        return OperatorSnapshot(uid=self.context.uid, lists={SPLITS_STATE: splits})

    def close(self) -> None:
        self._reader.close()


def _rows(batch: pa.RecordBatch) -> list[Any]:
    from headgate.types.arrow import rows_from_batch  # noqa: PLC0415  # Arrow takes long to load; few sources need it

    return rows_from_batch(batch)


@final
class _Context:
    """The `SourceContext` of a reader."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context

    @property
    def subtask(self) -> int:
        return self._context.subtask

    @property
    def parallelism(self) -> int:
        return self._context.parallelism

    def monotonic_ms(self) -> float:
        return self._context.services.clock.monotonic_ms()

    def count(self, name: str, by: int = 1) -> None:
        self._context.services.count(name, by)


@final
@dataclass(frozen=True, slots=True)
class SourceFactory:
    """Makes the operator of a `Source`."""

    source: Source[Any]
    strategy: WatermarkStrategy | None = None

    def create(self) -> SourceOperator:
        return SourceOperator(self.source, self.strategy)
