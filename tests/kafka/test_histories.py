"""A history under each kind of fault is lawful; `make kafka-histories` takes a thousand."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.kafka.broker import need_brokers
from tests.kafka.histories.__main__ import stage
from tests.kafka.histories.checker import Kind
from tests.kafka.histories.course import FAULTS, Stage
from tests.kafka.histories.history import take
from tests.kafka.histories.wire import EndTxn, parse

# kafka-python leaves the sockets of refused connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

BODY = bytes(8) + (3).to_bytes(2) + b"\x01"
"""A producer's id and epoch, and that it is to be committed."""


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    need_brokers()
    with stage(tmp_path_factory.mktemp("histories")) as on:
        yield on


@pytest.mark.soak
def test_consumers_see_each_record_once_whatever_happens_at_commits(on: Stage) -> None:
    with ThreadPoolExecutor(3) as pool:
        histories = list(pool.map(lambda number: take(on, number, number), range(100, 100 + len(FAULTS))))
    assert [str(history) for history in histories if not history.is_lawful] == []
    assert {history.fault for history in histories} == set(FAULTS)
    assert sum(history.faults for history in histories) > len(FAULTS)


@pytest.mark.soak
def test_what_a_consumer_sees_of_uncommitted_transactions_is_not_lawful(on: Stage) -> None:
    failing = list(FAULTS).index("a function fails")
    anomalies = take(on, failing, 1, isolation="read_uncommitted").anomalies
    assert {Kind.ABORTED_READ, Kind.EARLY_READ, Kind.DOUBLED} <= {anomaly.kind for anomaly in anomalies}


@pytest.mark.parametrize(
    "frame",
    [
        b"\x00\x1a\x00\x01" + bytes(4) + b"\x00\x02me" + b"\x00\x04id-7" + BODY,
        b"\x00\x1a\x00\x01" + bytes(4) + b"\xff\xff" + b"\x00\x04id-7" + BODY,
        b"\x00\x1a\x00\x03" + bytes(4) + b"\x00\x02me" + b"\x00" + b"\x05id-7" + BODY + b"\x00",
        b"\x00\x1a\x00\x05" + bytes(4) + b"\x00\x02me" + b"\x01\x07\x02ab" + b"\x05id-7" + BODY + b"\x00",
    ],
    ids=["version 1", "no client id", "version 3", "tagged fields"],
)
def test_the_wire_understands_requests_to_end_a_transaction(frame: bytes) -> None:
    assert parse(frame, 2) == EndTxn("id-7", is_commit=True, broker=2)


def test_the_wire_leaves_other_requests_alone() -> None:
    assert parse(b"\x00\x12\x00\x03" + bytes(4) + b"\x00\x02me", 0) is None
