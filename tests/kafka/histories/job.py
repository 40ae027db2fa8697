"""One driver of the job whose history is taken: numbers, counted by key, into a topic, each writing noted."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from headgate.common import Configuration, Types
from headgate.common.serialization import SerializationSchema
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.kafka.transactions import Transaction
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from headgate.datastream.state import ValueStateDescriptor
from headgate.errors import HeadgateError
from headgate.functions.sink import CommitLostError, Committer, Sink, SinkContext, SinkIdentity, SinkWriter
from headgate.ids import CheckpointId
from tests.kafka.histories.checker import Write
from tests.kafka.histories.journal import Journal

KEYS: Final = 3
_NUMBERS: Final = itertools.count()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """What a driver is to do. At each of `fail_at` a function fails, once in the history."""

    job_id: str
    bootstrap: str
    topic: str
    folder: Path
    records: int
    per_second: int
    timeout_ms: int
    fail_at: frozenset[int] = frozenset()

    @property
    def journal(self) -> Journal:
        """Where all drivers of the history note what they do."""
        return Journal(self.folder / "journal")

    @property
    def expected(self) -> list[tuple[str, int]]:
        """The values that the job writes."""
        return [(str(key), nth + 1) for key in range(KEYS) for nth in range(len(range(key, self.records, KEYS)))]


class Nth(KeyedProcessFunction):
    """Yields each key with how often it has come."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value in self._drive.fail_at:
            planned = self._drive.folder / f"failed-at-{value}"
            if not planned.exists():
                planned.touch()
                raise ValueError(f"planned fault at {value}")
        self._count.update((self._count.value() or 0) + 1)
        yield str(ctx.get_current_key()), self._count.value()


class Field(SerializationSchema):
    """The fields of a writing from one on, as text; of field 0 that is the producer, the key of the message."""

    def __init__(self, first: int, last: int) -> None:
        self._fields = slice(first, last)

    def serialize(self, element: Write) -> bytes:
        fields = (element.producer, str(element.sequence), element.writer, str(element.number))
        return " ".join(fields[self._fields]).encode()


def decode(value: bytes) -> Write:
    """Return the writing that a message is."""
    producer, sequence, writer, number = value.decode().split()
    return Write(producer, int(sequence), writer, int(number))


@final
class NotingSink(Sink[Transaction]):
    """Another sink, with a note of all that is written, prepared and committed."""

    def __init__(self, sink: Sink[Transaction], journal: Journal) -> None:
        self._sink = sink
        self._journal = journal
        self.transaction_timeout_ms = sink.transaction_timeout_ms

    def prepare(self, identity: SinkIdentity) -> None:
        self._sink.prepare(identity)

    def give_up(self, identity: SinkIdentity, savepoints: frozenset[str]) -> None:
        self._sink.give_up(identity, savepoints)

    def discard(self, identity: SinkIdentity) -> None:
        self._sink.discard(identity)

    def end_others(self, identity: SinkIdentity, held: list[Transaction]) -> Callable[[], None]:
        return self._sink.end_others(identity, held)

    def release(self, identity: SinkIdentity) -> None:
        self._sink.release(identity)

    def writer(self, context: SinkContext) -> SinkWriter[Transaction]:
        name = f"{os.getpid()}.{context.attempt}.{context.subtask}.{next(_NUMBERS)}"
        return NotingWriter(self._sink.writer(context), self._journal, name)

    def committer(self, context: SinkContext) -> Committer[Transaction]:
        return NotingCommitter(self._sink.committer(context), self._journal)


@final
class NotingWriter(SinkWriter[Transaction]):
    """Another writer."""

    def __init__(self, writer: SinkWriter[Transaction], journal: Journal, name: str) -> None:
        self._writer = writer
        self._journal = journal
        self._name = name
        self._written = 0

    def write(self, records: list[Any]) -> None:
        if not records:
            return
        writes = [
            Write(producer, sequence, self._name, self._written + at) for at, (producer, sequence) in enumerate(records)
        ]
        self._written += len(writes)
        fields = [(each.producer, each.sequence, each.writer, each.number) for each in writes]
        self._journal.note("written", writer=self._name, writes=fields)
        self._writer.write(writes)

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Transaction]:
        prepared = self._writer.prepare_commit(checkpoint_id)
        for transaction in prepared:
            self._journal.note("prepared", writer=self._name, name=transaction.transactional_id)
        return prepared

    def end_input(self) -> None:
        self._writer.end_input()

    def close(self) -> None:
        self._writer.close()


@final
class NotingCommitter(Committer[Transaction]):
    """Another committer, asked for one transaction at a time, so that it is known which is lost."""

    def __init__(self, committer: Committer[Transaction], journal: Journal) -> None:
        self._committer = committer
        self._journal = journal

    def commit(self, committables: list[Transaction]) -> None:
        for transaction in committables:
            self._journal.note("asked", name=transaction.transactional_id)
            try:
                self._committer.commit([transaction])
            except CommitLostError:
                self._journal.note("lost", name=transaction.transactional_id)
                raise
            self._journal.note("done", name=transaction.transactional_id)

    def secure(self, committables: list[Transaction]) -> None:
        self._committer.secure(committables)

    def keep(self, committables: list[Transaction], savepoint: str) -> None:
        self._committer.keep(committables, savepoint)

    def abort(self, committables: list[Transaction]) -> None:
        self._committer.abort(committables)

    def recover(self, restored: list[Transaction]) -> None:
        self._committer.recover(restored)


def drive(given: Drive) -> None:
    """Run the job, in a process of its own, from where the driver before it came to. Leaves why it failed in a file."""
    logging.disable(logging.WARNING)
    settings = {
        "headgate.deploy.target": "minicluster",
        "headgate.job.id": given.job_id,
        "headgate.storage.dir": str(given.folder / "storage"),
        "execution.checkpointing.interval": "100 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "100 ms",
        "restart-strategy.fixed-delay.attempts": "1000",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings)).set_parallelism(2)
    serializer = KafkaRecordSerializationSchema.builder().set_topic(given.topic)
    serializer.set_key_serialization_schema(Field(0, 1)).set_value_serialization_schema(Field(0, 4))
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(given.bootstrap)
        .set_record_serializer(serializer.build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(given.topic)
        .set_property("transaction.timeout.ms", str(given.timeout_ms))
        .build()
    )
    numbers = env.from_source(DataGeneratorSource(int, given.records, given.per_second), None, "numbers")
    counted = numbers.uid("numbers").key_by(lambda number: number % KEYS).process(Nth(given)).uid("counts")
    counted.sink_to(NotingSink(sink, given.journal)).uid("out")
    try:
        env.execute(given.topic)
    except HeadgateError as error:
        (given.folder / f"failure-{os.getpid()}").write_text(f"{type(error).__name__}: {error}")
        raise SystemExit(1) from None
