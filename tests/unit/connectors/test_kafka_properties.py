"""Properties of Kafka clients, as each of the two clients takes them."""

from __future__ import annotations

import pytest

from headgate.connectors.kafka.properties import for_coordinator, for_librdkafka
from headgate.errors import ProgramError

BROKERS = {"bootstrap.servers": "one:9092,two:9092"}


def test_what_only_java_clients_have_is_left_out_or_translated() -> None:
    login = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="a b";'
    given = {**BROKERS, "value.deserializer": "x.Y", "sasl.jaas.config": login, "fetch.min.bytes": "1"}
    assert for_librdkafka(given) == {
        **BROKERS,
        "fetch.min.bytes": "1",
        "sasl.username": "me",
        "sasl.password": "a b",
    }


def test_the_coordinator_is_reached_without_a_login_unless_there_is_one() -> None:
    assert for_coordinator({**BROKERS, "linger.ms": 5}) == {
        "bootstrap_servers": ["one:9092", "two:9092"],
        "security_protocol": "PLAINTEXT",
    }


def test_the_coordinator_is_reached_with_the_login_and_certificates_of_the_producer() -> None:
    given = {
        **BROKERS,
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "me",
        "sasl.password": "secret",
        "ssl.ca.location": "ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
    }
    assert for_coordinator(given) == {
        "bootstrap_servers": ["one:9092", "two:9092"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "me",
        "sasl_plain_password": "secret",
        "ssl_cafile": "ca.pem",
        "ssl_check_hostname": False,
    }


def test_a_login_that_came_with_java_reaches_the_coordinator_too() -> None:
    login = 'PlainLoginModule required username="me" password="secret";'
    given = {**BROKERS, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    found = for_coordinator(given)
    assert (found["sasl_plain_username"], found["sasl_plain_password"]) == ("me", "secret")


def test_a_login_that_transactions_cannot_use_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"sasl\.mechanism is OAUTHBEARER"):
        for_coordinator({**BROKERS, "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"})
