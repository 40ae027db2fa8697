"""Several Kafka brokers for tests, each of which can be killed while the others keep running."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, final

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

from headgate.errors import EnvironmentFault
from headgate.testing.servers.kafka import BrokerPorts, Cluster, KafkaBroker

_DEADLINE_S: Final = 60.0
_PREFERRED: Final = 0


@final
class KafkaCluster:
    """Brokers that replicate all topics to each other, in folders below `folder`. Any minority of them may be down.

    >>> with KafkaCluster(folder) as cluster:  # doctest: +SKIP
    ...     cluster.brokers[0].create_topic("payments", partitions=2)
    ...     cluster.brokers[1].kill()
    ...     cluster.brokers[1].start()
    """

    def __init__(self, folder: Path, brokers: int = 3, *, transaction_timeout_max_ms: int = 900_000) -> None:
        cluster = Cluster.of(brokers)
        self.ports: tuple[BrokerPorts, ...] = cluster.ports
        self.brokers = [
            KafkaBroker(
                folder / f"broker-{node + 1}",
                transaction_timeout_max_ms=transaction_timeout_max_ms,
                cluster=cluster,
                node=node,
            )
            for node in range(brokers)
        ]

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, for clients."""
        return self.brokers[0].bootstrap

    @property
    def detour_bootstrap(self) -> str:
        """The addresses for clients whose traffic goes through a test's proxy: see `BrokerPorts`."""
        return ",".join(f"127.0.0.1:{each.detour_entry}" for each in self.ports)

    def elect_leaders(self, *topics: str) -> None:
        """Make the next replica of each partition of these topics its leader, and block until it is."""
        with KafkaAdminClient(bootstrap_servers=self.bootstrap.split(",")) as client:
            leaders = {each: [*nodes[1:], nodes[0]] for each, (_, nodes) in _leaders(client, topics).items()}
            client.alter_partition_reassignments(leaders)
            deadline = time.monotonic() + _DEADLINE_S
            while any(leader != nodes[0] for leader, nodes in _leaders(client, topics).values()):
                if time.monotonic() > deadline:
                    raise EnvironmentFault(f"the topics {', '.join(topics)} have no other leaders ({_DEADLINE_S:g} s)")
                client.elect_leaders(_PREFERRED, list(topics), raise_errors=False)

    def __enter__(self) -> Self:
        try:
            for broker in self.brokers:
                broker.launch()
            for broker in self.brokers:
                broker.wait_until_it_answers()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._kill()

    def _kill(self) -> None:
        for broker in self.brokers:
            broker.kill()


def _leaders(client: KafkaAdminClient, topics: Iterable[str]) -> dict[TopicPartition, tuple[int, list[int]]]:
    """Return the leader and the replicas of each partition."""
    return {
        TopicPartition(topic["name"], partition["partition_index"]): (
            partition["leader_id"],
            partition["replica_nodes"],
        )
        for topic in client.describe_topics(list(topics))
        for partition in topic["partitions"]
    }
