"""Any source, read up to some record only, until it may go on: so that a job is stopped half-way on any machine."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from headgate.datastream import StreamExecutionEnvironment
from headgate.functions.acknowledging import Acknowledger
from headgate.functions.source import (
    END_OF_INPUT,
    NoMoreSplits,
    NotReady,
    Poll,
    Records,
    Source,
    SourceContext,
    SourceReader,
)
from headgate.ids import JobId
from headgate.operators.source import SourceFactory

LOOK_MS: Final = 10.0
READERS: Final[set[HaltingReader]] = set()
"""Those that are open."""
GO_ON: Final = threading.Event()
"""Readers may hand out the rest."""
MAY_END: Final = threading.Event()
"""Readers may say that there is no more."""


def all_halted() -> bool:
    """Return whether each subtask of each source has handed out all that it may for now."""
    readers = list(READERS)
    return bool(readers) and all(reader.left <= 0 for reader in readers)


def halt(env: StreamExecutionEnvironment, records: int | None) -> None:
    """Have all sources of a program halt half-way through so many records, None: as many as they say that they have."""
    for node in env._program.graph().nodes:
        if isinstance(node.operator, SourceFactory):
            source = node.operator.source
            node.operator = replace(node.operator, source=Halting(source, records or source.records_total or 0))


class HaltingReader(SourceReader[Any]):
    """Another reader, up to some record; then nothing is ready until it may go on."""

    def __init__(self, reader: SourceReader[Any], context: SourceContext, left: int) -> None:
        self.reader, self.context, self.left = reader, context, left
        READERS.add(self)

    def add_splits(self, splits: list[Any]) -> None:
        self.reader.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        if GO_ON.is_set():
            polled = self.reader.poll(records_max)
            return self._look_again() if polled is END_OF_INPUT and not MAY_END.is_set() else polled
        if self.left <= 0:
            return self._look_again()
        polled = self.reader.poll(min(records_max, self.left))
        if isinstance(polled, Records):
            self.left -= len(polled.records)
        return polled

    def _look_again(self) -> Poll:
        return NotReady(self.context.monotonic_ms() + LOOK_MS)

    def snapshot(self) -> list[Any]:
        return self.reader.snapshot()

    def notify_completed(self, splits: list[Any]) -> None:
        self.reader.notify_completed(splits)

    def close(self) -> None:
        READERS.discard(self)
        self.reader.close()


class Halting(Source[Any]):
    """Another source. Of its share of `records` the first subtask reads 7 of 16 at first, and the others fewer."""

    def __init__(self, source: Source[Any], records: int) -> None:
        self.source, self.records = source, records
        self.bounded, self.discovery_ends = source.bounded, source.discovery_ends
        self.parallelism_max, self.in_stages = source.parallelism_max, source.in_stages
        self.discovery_interval_ms = source.discovery_interval_ms
        self.watermarks_per_split = source.watermarks_per_split
        self.one_split_at_a_time = source.one_split_at_a_time

    def prepare(self, job_id: JobId) -> None:
        self.source.prepare(job_id)

    def splits(self, parallelism: int) -> list[Any]:
        return self.source.splits(parallelism)

    def keep(self) -> None:
        self.source.keep()

    def discard(self, job_id: JobId) -> None:
        self.source.discard(job_id)

    def release(self, job_id: JobId) -> None:
        self.source.release(job_id)

    def discover(self, known: frozenset[str]) -> list[Any] | NoMoreSplits:
        return self.source.discover(known)

    def is_last_stage(self, known: frozenset[str]) -> bool:
        return self.source.is_last_stage(known)

    def next_stage(self, known: frozenset[str], parallelism: int) -> list[Any]:
        return self.source.next_stage(known, parallelism)

    def stage_of(self, split_id: str) -> Source[Any]:
        return self.source.stage_of(split_id)

    def split_id(self, split: Any) -> str:
        return self.source.split_id(split)

    def to_remember(self, known: Iterable[str]) -> list[str]:
        return self.source.to_remember(known)

    def acknowledger(self) -> Acknowledger[Any] | None:
        return self.source.acknowledger()

    def reader(self, context: SourceContext) -> SourceReader[Any]:
        share = self.records // context.parallelism
        return HaltingReader(self.source.reader(context), context, share * (7 - 2 * context.subtask) // 16)
