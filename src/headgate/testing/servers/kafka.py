"""A real Apache Kafka broker for tests: without ZooKeeper, on free ports of this host. Alone or in a cluster.

    with KafkaBroker(folder) as broker:
        broker.create_topic("payments", partitions=2)
        ...
        broker.read_committed("payments")

It needs Java 17 or newer, and Maven the first time: `missing_programs` says which of them is missing.
"""

from __future__ import annotations

import base64
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.admin import KafkaAdminClient
from kafka.errors import CoordinatorLoadInProgressError

from headgate.connectors.kafka.client import SILENT
from headgate.errors import EnvironmentFault
from headgate.testing.servers.kafka_download import broker_files
from headgate.testing.servers.ports import free_ports

USER: Final = "alice"
PASSWORD: Final = "alice-secret"

_START_DEADLINE_S: Final = 120.0
_STOP_DEADLINE_S: Final = 20.0
_READ_DEADLINE_S: Final = 120.0
_JAVA: Final = ("java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_FORMAT: Final = "kafka.tools.StorageTool"
_SERVE: Final = "kafka.Kafka"


@final
@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """The ports of one broker, all on 127.0.0.1.

    `detour_entry` is what the broker advertises to clients that connect there, and `detour` is where it listens for
    them: a proxy between the two sees and can change all traffic.
    """

    plain: int
    login: int
    controller: int
    detour: int
    detour_entry: int


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """The brokers of one cluster, by their ports."""

    cluster_id: str
    ports: tuple[BrokerPorts, ...]

    @staticmethod
    def of(brokers: int) -> Cluster:
        """Return a new cluster of this many brokers on free ports."""
        free = free_ports(5 * brokers)
        ports = [BrokerPorts(*free[5 * node : 5 * node + 5]) for node in range(brokers)]
        return Cluster(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="), tuple(ports))


@final
class KafkaBroker:
    """A broker that keeps its data and logs in `folder`. It can be stopped, killed, and started again with its data.

    `node` is the broker's place in `cluster`, from 0 on; without `cluster` it is the only broker of a new cluster. Its
    JVM gets the options in `KAFKA_OPTS` of the environment, as with Kafka's own scripts.
    """

    def __init__(
        self,
        folder: Path,
        *,
        transaction_timeout_max_ms: int = 900_000,
        cluster: Cluster | None = None,
        node: int = 0,
    ) -> None:
        self._folder = folder
        self._transaction_timeout_max_ms = transaction_timeout_max_ms
        self._cluster = Cluster.of(1) if cluster is None else cluster
        self._node = node
        self._ports = self._cluster.ports[node]
        self._process: subprocess.Popen[bytes] | None = None
        self._producer: Producer | None = None

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers of the cluster, for clients without a login."""
        return ",".join(f"127.0.0.1:{ports.plain}" for ports in self._cluster.ports)

    @property
    def login_bootstrap(self) -> str:
        """The address for clients with a login: SASL_PLAINTEXT, PLAIN, `USER` and `PASSWORD`."""
        return f"127.0.0.1:{self._ports.login}"

    @property
    def log_file(self) -> Path:
        """The broker's log."""
        return self._folder / "broker.log"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start the broker on its data, and wait until it answers."""
        self.launch()
        self.wait_until_it_answers()

    def launch(self) -> None:
        """Start the broker without waiting for it: most brokers of a cluster have to run before any answers."""
        if not (self._folder / "data").exists():
            self._format()
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(_SERVE, str(self._settings)), stdout=log, stderr=log, start_new_session=True
            )

    def wait_until_it_answers(self) -> None:
        """Block until the broker has joined its cluster and takes requests."""
        _wait(self._answers, _START_DEADLINE_S, f"the Kafka broker does not answer; see {self.log_file}")

    def stop(self) -> None:
        """Shut the broker down cleanly, as an administrator would."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the broker, as a crash would. Does nothing if it has ended."""
        self._end(signal.SIGKILL)

    def topics(self) -> set[str]:
        """Return the names of all topics."""
        return set(AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(timeout=_READ_DEADLINE_S).topics)

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """Create a topic, and block until it can be written."""
        client = AdminClient({"bootstrap.servers": self.bootstrap})
        client.create_topics([NewTopic(topic, partitions)])[topic].result(_READ_DEADLINE_S)
        _wait(
            lambda: len(client.list_topics(topic, 5).topics[topic].partitions) == partitions,
            _READ_DEADLINE_S,
            f"topic {topic} does not have its {partitions} partitions",
        )

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, and block until it is gone."""
        client = AdminClient({"bootstrap.servers": self.bootstrap})
        client.delete_topics([topic])[topic].result(_READ_DEADLINE_S)
        _wait(lambda: topic not in self.topics(), _READ_DEADLINE_S, f"topic {topic} does not go")
        self._producer = None  # it knows the deleted topic

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Add partitions to a topic, to `partitions` in all."""
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as client:
            client.create_partitions({topic: partitions})
        self._producer = None  # it knows only the old partitions

    def write(self, topic: str, values: list[bytes], *, partition: int | None = None, **message: Any) -> None:
        """Write each record once, and block until the broker has them; `message` holds further arguments of each."""
        if self._producer is None:
            self._producer = Producer(
                {"bootstrap.servers": self.bootstrap, "linger.ms": 20, "enable.idempotence": True, "logger": SILENT}
            )
        producer = self._producer
        if partition is not None:
            message["partition"] = partition
        while values:
            some, values = values[:50_000], values[50_000:]
            for value in some:
                producer.produce(topic, value, **message)
            if producer.flush(_READ_DEADLINE_S):
                raise EnvironmentFault(f"the Kafka broker did not take all records of {topic}; see {self.log_file}")

    def read_committed(self, topic: str) -> list[Any]:
        """Return the messages of a topic that a read-committed consumer sees now, partition after partition.

        Waits for running commits: the broker confirms a commit before consumers see it.
        """
        _wait(self._no_transaction_is_ending, _READ_DEADLINE_S, "transactions do not end")
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "headgate-testing",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        try:
            return _read_to_the_end(consumer, topic)
        finally:
            consumer.close()

    def _format(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._settings.write_text(self._properties())
        # After an equals sign the id may begin with a dash, as one id in 64 does.
        done = subprocess.run(
            self._command(_FORMAT, "format", f"--cluster-id={self._cluster.cluster_id}", "-c", str(self._settings)),
            capture_output=True,
            text=True,
            timeout=_START_DEADLINE_S,
            check=False,
        )
        if done.returncode != 0:
            raise EnvironmentFault(f"the folder of a Kafka broker could not be made: {done.stdout}{done.stderr}")

    @property
    def _settings(self) -> Path:
        return self._folder / "server.properties"

    def _properties(self) -> str:
        ports, brokers = self._ports, len(self._cluster.ports)
        listening = {"PLAINTEXT": ports.plain, "LOGIN": ports.login, "DETOUR": ports.detour}
        advertised = {**listening, "DETOUR": ports.detour_entry}
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        settings = {
            "process.roles": "broker,controller",
            "node.id": self._node + 1,
            "controller.quorum.voters": ",".join(
                f"{node}@127.0.0.1:{each.controller}" for node, each in enumerate(self._cluster.ports, 1)
            ),
            "listeners": _addresses({**listening, "CONTROLLER": ports.controller}),
            "advertised.listeners": _addresses(advertised),
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,DETOUR:PLAINTEXT,LOGIN:SASL_PLAINTEXT"
            ),
            "controller.listener.names": "CONTROLLER",
            "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.login.plain.sasl.jaas.config": f'{login} user_{USER}="{PASSWORD}";',
            "log.dirs": self._folder / "data",
            "auto.create.topics.enable": "false",
            "log.retention.ms": -1,
            "default.replication.factor": brokers,
            "min.insync.replicas": brokers // 2 + 1,
            "offsets.topic.replication.factor": brokers,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": brokers,
            "transaction.state.log.min.isr": brokers // 2 + 1,
            "transaction.state.log.num.partitions": 4,
            "transaction.max.timeout.ms": self._transaction_timeout_max_ms,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
            "group.initial.rebalance.delay.ms": 0,
            "broker.session.timeout.ms": 2_000,
            "broker.heartbeat.interval.ms": 500,
        }
        return "".join(f"{key}={value}\n" for key, value in settings.items())

    def _command(self, program: str, *arguments: str) -> list[str]:
        java = shutil.which(_JAVA[0])
        if java is None:
            raise EnvironmentFault("a Kafka broker needs Java 17 or newer: there is no java on the PATH")
        options = shlex.split(os.environ.get("KAFKA_OPTS", ""))
        return [java, *_JAVA[1:], *options, "-cp", f"{broker_files()}{os.sep}*", program, *arguments]

    def _answers(self) -> bool:
        if self._running().poll() is not None:
            raise EnvironmentFault(f"the Kafka broker ended at its start; see {self.log_file}")
        try:
            socket.create_connection(("127.0.0.1", self._ports.plain), 1.0).close()
            return self._node + 1 in AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(timeout=2.0).brokers
        except (OSError, KafkaException):
            return False

    def _no_transaction_is_ending(self) -> bool:
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as client:
            try:
                ending = client.list_transactions(state_filters=["PrepareCommit", "PrepareAbort"])
            except CoordinatorLoadInProgressError:  # the broker has just started
                return False
            return not any(ending.values())

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise EnvironmentFault("this Kafka broker is not running: call start()")
        return self._process

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            try:
                self._process.wait(_STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
            self._producer = None


def _read_to_the_end(consumer: Consumer, topic: str) -> list[Any]:
    partitions = consumer.list_topics(topic, _READ_DEADLINE_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
    found: dict[int | None, list[Any]] = {number: [] for number in sorted(partitions)}
    unread: set[int | None] = set(partitions)
    deadline = time.monotonic() + _READ_DEADLINE_S
    while unread:
        if time.monotonic() > deadline:
            raise EnvironmentFault(f"partitions {unread} of {topic} could not be read to their end")
        for message in consumer.consume(10_000, 0.1):
            error = message.error()
            if error is None:
                found[message.partition()].append(message)
            elif error.name() == "_PARTITION_EOF":
                unread.discard(message.partition())
            else:
                raise KafkaException(error)
    return [message for messages in found.values() for message in messages]


def _addresses(ports: dict[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())


def _wait(condition: Callable[[], bool], deadline_s: float, otherwise: str) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise EnvironmentFault(f"{otherwise} ({deadline_s:g} s)")
        time.sleep(0.05)
