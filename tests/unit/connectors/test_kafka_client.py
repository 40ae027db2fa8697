"""What librdkafka says again and again is in the log once in a while."""

from __future__ import annotations

import logging
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from headgate.connectors.kafka.client import Seldom, open_client
from tests.nobody import nobody


def said(at_s: float, text: str, client: str = "rdkafka#consumer-1") -> logging.LogRecord:
    record = logging.LogRecord("kafka", logging.ERROR, "", 0, "%s [%s] %s", ("FAIL", client, text), None)
    record.created = at_s
    return record


def test_the_same_trouble_passes_every_ten_seconds_whichever_client_has_it() -> None:
    seldom = Seldom()
    assert seldom.filter(said(0.0, "a: refused (after 0ms)"))
    assert not seldom.filter(said(0.1, "a: refused (after 51ms)", "rdkafka#producer-2"))
    assert not seldom.filter(said(9.9, "a: refused (after 7ms)"))
    assert seldom.filter(said(10.0, "a: refused (after 0ms)"))


def test_another_broker_and_another_trouble_pass() -> None:
    seldom = Seldom()
    texts = ("broker-1:9092: refused", "broker-2:9092: refused", "broker-1:9092: timed out")
    assert all(seldom.filter(said(0.0, text)) for text in texts)


def test_what_is_not_of_librdkafka_passes() -> None:
    seldom = Seldom()
    record = logging.LogRecord("kafka", logging.ERROR, "", 0, "ours", None, None)
    assert seldom.filter(record)
    assert seldom.filter(record)


@pytest.mark.slow
def test_a_client_whose_broker_is_away_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    with nobody() as address:
        host = str(address)
        consumer = open_client(Consumer, {"bootstrap.servers": host, "group.id": "g"})
        consumer.assign([TopicPartition("t", 0, 0)])
        due_s = time.monotonic() + 120.0
        while not caplog.records and time.monotonic() < due_s:
            consumer.consume(1, 0.1)
        consumer.consume(1, 1.0)
        consumer.close()
    refused = [record for record in caplog.records if host in record.getMessage() and "FAIL" in record.getMessage()]
    assert len(refused) == 1
