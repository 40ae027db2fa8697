"""The example of payments judges as its model does, and its demo fails when anything is missing, doubled or wrong."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import payments_job
import pytest
from payment_rules import Payment, Rules, read_payment, read_rules
from payments_check import Decision, Found, differences, judge
from payments_demo import BROKEN_RULES, RULES
from payments_traffic import Sent

from headgate.common import Configuration, WatermarkStrategy
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.testing.harness import OperatorHarness
from tests.docs.blocks import ROOT

MINUTE_MS = 60_000
PAGE = ROOT / "docs" / "guides" / "payments.md"
BROKEN = [b"{", b"\xff", b'{"id": "payment-0", "card": "card-1", "amount": -5, "country": "DE"}', b"[]", b"null"]


def payments(count: int) -> list[Sent]:
    """Make payments of three cards, some minutes apart: often too many, sometimes too large."""
    rng = random.Random(1)
    return [
        Sent(
            id=f"payment-{number}",
            card=f"card-{rng.randrange(3)}",
            amount=rng.randrange(1, 160_000),
            country=rng.choice("AAAABCD"),
            time_ms=(100 + number * 3) * MINUTE_MS + rng.randrange(5_000),
        )
        for number in range(count)
    ]


def message(payment: Sent) -> bytes:
    return json.dumps({name: value for name, value in asdict(payment).items() if name != "time_ms"}).encode()


def stream(env: StreamExecutionEnvironment, messages: list[tuple[bytes, int]]) -> DataStream:
    """Messages with their times, as a topic gives them."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    return env.from_collection(messages).assign_timestamps_and_watermarks(strategy).map(lambda pair: pair[0])


def test_the_job_judges_as_the_model_does_and_puts_broken_messages_aside() -> None:
    sent = payments(600)
    messages = [(message(payment), payment.time_ms) for payment in sent]
    messages[300:300] = [(broken, sent[300].time_ms) for broken in BROKEN]
    messages.append(messages[7])  # sent again
    rules = [json.dumps(RULES[version]).encode() for version in (1, 3, 2)]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"headgate.deploy.target": "minicluster", "headgate.batch.records": "10"})
    ).set_parallelism(1)  # so that the payments of a card keep their order, as they do in a partition
    audit, broken = payments_job.judge(stream(env, messages), stream(env, [(rule, 0) for rule in [*rules, b"{}"]]))
    results = audit.map(tuple).union(broken.map(lambda failed: failed.record))
    with results.execute_and_collect() as found:
        output = list(found)

    audited = [Decision(*each) for each in output if isinstance(each, tuple)]
    alerts = [row._asdict() for row in audited if row.decision != "accepted"]
    dead = [each for each in output if isinstance(each, bytes)]
    assert differences(sent, [*BROKEN, b"{}"], RULES, Found(audit=audited, alerts=alerts, dead_letters=dead)) == []
    assert {reason for row in audited for reason in row.decision.split("+")} == {
        *("accepted", "amount", "sum", "countries")
    }


def judging() -> OperatorHarness:
    return OperatorHarness.of(
        payments_job.Judge(), broadcast=[payments_job.CURRENT_RULES], key_by=lambda payment: payment.card
    )


def decisions(rows: list[Any]) -> list[tuple[int, str]]:
    return [(row.rules_version, row.decision) for row in rows]


def test_older_rules_replace_no_newer_ones() -> None:
    with judging() as harness:
        assert decisions(harness.process(Payment("1", "a", 10, "DE"), timestamp_ms=0)) == [(0, "accepted")]
        for version in (1, 3, 2):
            harness.process_second(Rules(version, 100 * version, 1000, 60, 3, 60))
        assert decisions(harness.process(Payment("2", "a", 250, "DE"), timestamp_ms=0)) == [(3, "accepted")]


def test_a_payment_is_forgotten_when_no_rule_can_ask_for_it() -> None:
    with judging() as harness:
        harness.process_second(Rules(1, 1000, 100, 60, 3, 60))
        harness.process(Payment("1", "a", 90, "DE"), timestamp_ms=0)
        harness.process(Payment("2", "a", 5, "DE"), timestamp_ms=1 * MINUTE_MS)
        harness.watermark(60 * MINUTE_MS)
        late = Payment("3", "a", 96, "DE")  # it comes so late that the first one would count, if it were known
        assert decisions(harness.process(late, timestamp_ms=2 * MINUTE_MS)) == [(1, "sum")]
        harness.watermark(62 * MINUTE_MS)
        assert decisions(harness.process(Payment("4", "a", 100, "DE"), timestamp_ms=2 * MINUTE_MS)) == [(1, "accepted")]


def test_a_payment_that_is_sent_again_within_a_day_is_left_out() -> None:
    with judging() as harness:
        payment = Payment("1", "a", 10, "DE")
        assert len(harness.process(payment, payment, timestamp_ms=0)) == 1
        harness.advance_time(24 * 60 * MINUTE_MS - 1)
        assert harness.process(payment, timestamp_ms=0) == []
        harness.advance_time(1)
        assert len(harness.process(payment, timestamp_ms=0)) == 1


def test_payments_outside_a_window_do_not_count() -> None:
    rules = {"amount_max": 100, "sum_max": 100, "sum_minutes": 10, "countries_max": 1, "countries_minutes": 20}
    first = Sent(id="1", card="a", amount=60, country="DE", time_ms=0)
    for minutes, decision in ((9, "sum+countries"), (10, "countries"), (20, "accepted")):
        later = Sent(id="2", card="a", amount=60, country="FR", time_ms=minutes * MINUTE_MS)
        assert judge(rules, [first, later]) == decision


def test_the_page_calls_the_job_as_it_wants_to_be_called() -> None:
    commands = [line for line in PAGE.read_text().splitlines() if line.startswith("headgate run ")]
    assert len(commands) == 3
    for command in commands:
        options = payments_job.parse([*shlex.split(command.partition("payments_job.py ")[2]), "--database", "x"])
        payments_job.settings(options)
        assert options.kafka.endswith(":9092")


def test_the_rules_that_the_page_sends_are_rules() -> None:
    (sent,) = re.findall(r"^echo '(.*)' \|", PAGE.read_text(), re.MULTILINE)
    assert read_rules(sent.encode()).version == 7


def right() -> tuple[list[Sent], Found]:
    """A payment of each decision, and what is right for them."""
    sent = [
        Sent(id="1", card="a", amount=200_000, country="DE", time_ms=1),
        Sent(id="2", card="a", amount=1, country="DE", time_ms=2),
        Sent(id="3", card="b", amount=1, country="DE", time_ms=3),
    ]
    audit = [
        Decision("1", "a", 1, 200_000, "DE", 1, "amount"),
        Decision("2", "a", 2, 1, "DE", 2, "accepted"),
        Decision("3", "b", 3, 1, "DE", 1, "accepted"),
    ]
    return sent, Found(audit=audit, alerts=[audit[0]._asdict()], dead_letters=[b"{"])


def with_audit(found: Found, number: int, **changes: Any) -> Found:
    audit = [row._replace(**changes) if at == number else row for at, row in enumerate(found.audit)]
    return replace(found, audit=audit)


WRONG: dict[str, Callable[[Found], Found]] = {
    "audit, payments: 1 missing": lambda found: replace(found, audit=found.audit[:2]),
    "1 too many, such as ['3']": lambda found: replace(found, audit=[*found.audit, found.audit[2]]),
    "alerts, as in the audit: 1 missing": lambda found: replace(found, alerts=[]),
    "alerts, as in the audit: 0 missing": lambda found: replace(found, alerts=[*found.alerts, *found.alerts]),
    "dead letters: 1 missing": lambda found: replace(found, dead_letters=[]),
    "rules 0 decided on": lambda found: with_audit(found, 1, rules_version=0),
    "the audit has Decision(payment='3'": lambda found: with_audit(found, 2, amount=2),
    "decision='accepted'), and not": lambda found: replace(with_audit(found, 0, decision="accepted"), alerts=[]),
}


@pytest.mark.parametrize("told", WRONG)
def test_the_demo_fails_on_any_difference(told: str) -> None:
    sent, found = right()
    assert differences(sent, [b"{"], RULES, found) == []
    assert told in "\n".join(differences(sent, [b"{"], RULES, WRONG[told](found)))


@pytest.mark.parametrize("broken", [*BROKEN, b'{"id": "", "card": "a", "amount": 1, "country": "DE"}'])
def test_what_is_no_payment_is_refused(broken: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        read_payment(broken)


@pytest.mark.parametrize(
    "broken", [BROKEN_RULES, b"7", json.dumps({**RULES[1], "sum_minutes": 61}).encode(), json.dumps(RULES[0]).encode()]
)
def test_what_are_no_rules_is_refused(broken: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        read_rules(broken)
