"""Payments by card, judged by rules that change while the job runs; docs/guides/payments.md tells how to deploy it.

headgate run --spark-submit "--master spark://... --py-files payment_rules.py" payments_job.py --kafka broker:9092

Alerts go to a topic of Kafka, the decision on every payment to a table of PostgreSQL, and messages that are no payment
or no rules to a topic of their own: all of them exactly once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence

from payment_rules import DEFAULT_RULES, MINUTE_MS, MINUTES_MAX, PAYMENT, RULES, broken_rules, read_payment, read_rules

from headgate.common import (
    ByteArraySchema,
    Configuration,
    Duration,
    JsonSchema,
    Row,
    SerializationSchema,
    Time,
    Types,
    WatermarkStrategy,
)
from headgate.connectors.postgres import PostgresSink, PostgresTable
from headgate.datastream import (
    DataStream,
    FailedRecord,
    KeyedBroadcastProcessFunction,
    OutputTag,
    RecordErrors,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import (
    KafkaMessage,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headgate.datastream.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig

REMEMBERED_MS = MINUTES_MAX * MINUTE_MS
ACCEPTED = "accepted"
AUDIT = Types.ROW_NAMED(
    ["payment", "card", "paid_ms", "amount", "country", "rules_version", "decision"],
    [Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG(), Types.STRING(), Types.LONG(), Types.STRING()],
)
Audit = Row(*AUDIT.get_field_names())

CURRENT_RULES = MapStateDescriptor("rules", Types.STRING(), RULES)
CURRENT = "current"
BROKEN_PAYMENT = OutputTag("broken payments")
BROKEN_RULES = OutputTag("broken rules")


class Judge(KeyedBroadcastProcessFunction[str, Row, Row, Row]):
    """Judges the payments of a card, by the rules that there are when a payment arrives."""

    def open(self, runtime_context: RuntimeContext) -> None:
        payments = ListStateDescriptor("payments", Types.TUPLE([Types.LONG(), Types.LONG(), Types.STRING()]))
        self.payments = runtime_context.get_list_state(payments)
        # Terminals send a payment again when they get no answer: for a day its id is known.
        ids = MapStateDescriptor("ids", Types.STRING(), Types.BOOLEAN())
        ids.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        self.ids = runtime_context.get_map_state(ids)

        metrics = runtime_context.get_metrics_group()
        self.alerts = metrics.counter("alerts")
        self.repeated = metrics.counter("repeatedPayments")
        self.rules_version = 0
        metrics.gauge("rulesVersion", lambda: self.rules_version)

    def process_broadcast_element(self, value: Row, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        """Take new rules. The same happens in every subtask, and nothing is emitted."""
        rules = ctx.get_broadcast_state(CURRENT_RULES)
        if value.version > rules.get(CURRENT, DEFAULT_RULES).version:  # else it is an old message, sent again
            rules.put(CURRENT, value)
            self.rules_version = value.version

    def process_element(self, value: Row, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Row]:
        if self.ids.contains(value.id):
            self.repeated.inc()
            return
        self.ids.put(value.id, True)

        paid_ms = ctx.timestamp()
        assert paid_ms is not None  # each message of Kafka has one
        self.payments.add((paid_ms, value.amount, value.country))
        # One timer in a minute for each card, however many payments it makes.
        ctx.timer_service().register_event_time_timer(_next_minute(paid_ms + REMEMBERED_MS))

        rules = ctx.get_broadcast_state(CURRENT_RULES).get(CURRENT, DEFAULT_RULES)
        self.rules_version = rules.version  # after a restart, too
        broken = "+".join(broken_rules(rules, paid_ms, self.payments.get()))
        if broken:
            self.alerts.inc()
        yield Audit(value.id, value.card, paid_ms, value.amount, value.country, rules.version, broken or ACCEPTED)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> None:
        """Forget the payments that no rule asks for any more."""
        self.payments.update([each for each in self.payments.get() if each[0] + REMEMBERED_MS > timestamp])


def _next_minute(time_ms: int) -> int:
    return -(-time_ms // MINUTE_MS) * MINUTE_MS


class CardOf(SerializationSchema):
    """The key of an alert's message: alerts of a card keep their order."""

    def serialize(self, element: dict[str, str]) -> bytes:
        return element["card"].encode()


class DeadLetter(KafkaRecordSerializationSchema):
    """The message as it came, so that it can be sent again, with headers that say why it is here."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def serialize(self, record: FailedRecord) -> KafkaMessage:
        headers = (("operator", record.operator.encode()), ("error", record.error.splitlines()[-1].encode()))
        assert self.topic is not None
        return KafkaMessage(topic=self.topic, value=record.record, headers=headers)


# --- the pipeline


def build(env: StreamExecutionEnvironment, options: argparse.Namespace) -> None:
    """Lay out the job. Every operator has a uid: state belongs to it, so a changed program finds its state again."""
    audit, broken = judge(
        # Event time per partition, so that one that is read faster than others makes no payment late; a partition
        # without payments for some seconds is not waited for.
        read(env, options.payments_topic, options, "payments-source", idleness_s=10),
        # One subtask, so that all subtasks of the judge get the rules in one order. The topic is quiet for days, and
        # event time must not wait for it.
        read(env, options.rules_topic, options, "rules-source", idleness_s=1).set_parallelism(1),
    )
    table = PostgresTable(options.database, options.audit_table, AUDIT.get_field_names())
    audit.sink_to(PostgresSink(table)).name("audit").uid("audit")

    alerts = audit.filter(lambda row: row.decision != ACCEPTED).name("alerts only").uid("alerts-only")
    alert_message = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(options.alerts_topic)
        .set_key_serialization_schema(CardOf())
        .set_value_serialization_schema(JsonSchema())
        .build()
    )
    write(alerts.map(Row.as_dict).name("alert").uid("alert"), options, alert_message, "alerts")
    write(broken, options, DeadLetter(options.dead_letters_topic), "dead-letters")


def judge(payment_messages: DataStream, rule_messages: DataStream) -> tuple[DataStream, DataStream]:
    """Return the decisions, and the messages that are no payments or no rules."""
    payments = (
        payment_messages.map(read_payment, output_type=PAYMENT)
        .name("read payment")
        .uid("read-payment")
        .on_error(RecordErrors.side_output(BROKEN_PAYMENT))
    )
    rules = (
        rule_messages.map(read_rules, output_type=RULES)
        .set_parallelism(1)
        .name("read rules")
        .uid("read-rules")
        .on_error(RecordErrors.side_output(BROKEN_RULES))
    )
    audit = (
        payments.key_by(lambda payment: payment.card)
        .connect(rules.broadcast(CURRENT_RULES))
        .process(Judge(), output_type=AUDIT)
        .name("judge")
        .uid("judge")
    )
    return audit, payments.get_side_output(BROKEN_PAYMENT).union(rules.get_side_output(BROKEN_RULES))


def read(
    env: StreamExecutionEnvironment, topic: str, options: argparse.Namespace, uid: str, *, idleness_s: int
) -> DataStream:
    """Read messages as they are: what is no payment is dealt with behind, and not lost."""
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.kafka)
        .set_topics(topic)
        .set_group_id(options.group)  # offsets for monitoring; what counts is in the checkpoint
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(ByteArraySchema())
        .build()
    )
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    strategy = in_order.with_idleness(Duration.of_seconds(idleness_s))
    return env.from_source(source, strategy, topic).uid(uid)


def write(records: DataStream, options: argparse.Namespace, message: KafkaRecordSerializationSchema, name: str) -> None:
    """Write to Kafka in transactions: consumers that read committed messages see each record once."""
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(options.kafka)
        .set_record_serializer(message)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"{options.group}-{name}")
        .build()
    )
    records.sink_to(sink).name(name).uid(name)


# --- the program


def settings(options: argparse.Namespace) -> Configuration:
    """Return what belongs to the program. Places, such as that of the checkpoints, belong to whoever deploys it."""
    return Configuration.from_dict(
        {
            # Alerts and audit become visible when a checkpoint is complete, so they are about this late.
            "execution.checkpointing.interval": f"{options.checkpoint_ms} ms",
            # When a checkpoint takes long, half of the time is still left for payments.
            "execution.checkpointing.min-pause": f"{options.checkpoint_ms // 2} ms",
            # Interval and timeout together must be less than brokers keep a transaction open: 15 minutes.
            "execution.checkpointing.timeout": "5 min",
            # Storage that is away for a moment is no reason to start again; storage that stays away is.
            "execution.checkpointing.tolerable-failed-checkpoints": "3",
            # A job that somebody cancels by mistake can be started from its last checkpoint.
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            # Never gives up by itself, since payments go on; waits longer when broker or database stay away.
            "restart-strategy.type": "exponential-delay",
            "restart-strategy.exponential-delay.initial-backoff": "1 s",
            "restart-strategy.exponential-delay.max-backoff": "1 min",
            # Fixed with the first start: the most subtasks that the job may ever be rescaled to.
            "pipeline.max-parallelism": "128",
        }
    )


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the program was called with. Ends the process when that is wrong."""
    parser = argparse.ArgumentParser(description="Judges payments by card, by rules that change while it runs.")
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT", help="brokers, with commas between them")
    parser.add_argument(
        "--database",
        default=os.environ.get("PAYMENTS_DATABASE"),
        metavar="URL",
        help="postgresql://user:password@host/database; better in the environment as PAYMENTS_DATABASE, since "
        "everybody on the machine can see arguments",
    )
    parser.add_argument("--payments-topic", default="payments")
    parser.add_argument("--rules-topic", default="payment-rules")
    parser.add_argument("--alerts-topic", default="payment-alerts")
    parser.add_argument("--dead-letters-topic", default="payment-dead-letters")
    parser.add_argument("--audit-table", default="payment_audit")
    parser.add_argument("--group", default="payments", help="consumer group, and prefix of transactional ids")
    parser.add_argument("--checkpoint-ms", type=int, default=10_000, help="how late alerts and audit may be")
    options = parser.parse_args(arguments)
    if not options.database:
        parser.error("--database or PAYMENTS_DATABASE is needed")
    return options


def main() -> None:
    options = parse()
    env = StreamExecutionEnvironment.get_execution_environment(settings(options))
    build(env, options)
    env.execute("payments")


if __name__ == "__main__":
    main()
