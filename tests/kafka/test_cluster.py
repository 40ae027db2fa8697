"""Several brokers of which one is lost: what they were asked for is asked of the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.connectors.kafka.transaction_coordinator import TransactionCoordinator, TransactionState
from headgate.testing.servers.kafka_cluster import KafkaCluster
from tests.kafka.broker import need_brokers
from tests.kafka.test_transactions import wait_for

pytestmark = [
    # kafka-python leaves sockets of a broker that dies to the garbage collector, which may come in the next test.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    need_brokers()
    with KafkaCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.mark.soak
def test_a_transaction_begins_and_is_found_while_its_coordinator_dies(cluster: KafkaCluster) -> None:
    properties = {"bootstrap.servers": cluster.bootstrap}
    names = [f"id-{number}" for number in range(8)]  # each broker coordinates some
    for broker in cluster.brokers:
        broker.kill()
        with TransactionCoordinator(properties) as coordinator:
            for name in names:
                coordinator.register(name, 10_000)
                assert coordinator.describe(name).state is TransactionState.ABORTED
            assert set(names) <= set(coordinator.unfinished("id-"))
        broker.start()


@pytest.mark.soak
def test_leaders_are_elected_while_all_brokers_run(cluster: KafkaCluster) -> None:
    broker = cluster.brokers[0]
    broker.create_topic("elected", 2)
    broker.write("elected", [b"a"])
    for _ in cluster.brokers:
        cluster.elect_leaders("elected")
        broker.write("elected", [b"b"])
    expected = [b"a", b"b", b"b", b"b"]
    wait_for(lambda: sorted(message.value() for message in broker.read_committed("elected")) == expected)
