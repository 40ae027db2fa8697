"""The examples that come with PyFlink print the same here, with nothing but the import root replaced.

Their sources are PyFlink's, so they are read from where `make peers` has installed it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from headgate.testing.servers.kafka import KafkaBroker
from tests.compat_programs.import_root import with_our_import_root
from tests.kafka.broker import shared_broker, texts
from tests.peers.comparing import ROOT

PEERS: Final = ROOT / ".venv-peers"
FOLDER: Final = next(PEERS.glob("lib/python3*/site-packages/pyflink/examples/datastream"), PEERS)
CONNECTOR: Final = next(PEERS.glob("jars/flink-sql-connector-kafka-*.jar"), PEERS)
PLAIN: Final = ("basic_operations", "event_time_timer", "process_json_data", "state_access", "word_count")
"""Those that end, and need no windows, asynchronous calls or tables."""

TO_AND_FROM_KAFKA: Final = {"avro": 9, "bytearray": 5, "csv": 9, "json": 9}
"""The formats of those that go on reading from Kafka, and how many lines they print before they wait."""

END_S: Final = 180.0
OF_THE_RUNTIME: Final = re.compile(r"google.cloud|PYFLINK_CYTHON|unsupported type: typing|rdkafka")
"""What the runtimes log, not the program: the examples let all loggers write to standard output."""

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(FOLDER == PEERS, reason="PyFlink is not installed: run make peers"),
]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    yield from shared_broker(tmp_path_factory.mktemp("broker"))


def lines_of(program: Path, python: Path, options: tuple[str, ...] = (), count: int | None = None) -> list[str]:
    """Run a program; return the lines that it prints, sorted, up to `count` of them, after which it is killed."""
    found: list[str] = []
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(python), str(program), *options]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        no_end = threading.Timer(END_S, os.killpg, (process.pid, signal.SIGKILL))
        no_end.start()
        assert process.stdout is not None
        for line in process.stdout:
            if not OF_THE_RUNTIME.search(line):
                found.append(re.sub(r"^\d+> ", "", line.rstrip("\n")))
            if len(found) == count:
                os.killpg(process.pid, signal.SIGKILL)
                break
        no_end.cancel()
    return sorted(found)


def of_headgate(program: Path, folder: Path, count: int | None = None) -> list[str]:
    ours = with_our_import_root(program, folder)
    return lines_of(ours, Path(sys.executable), ("-Dheadgate.deploy.target=minicluster",), count)


@pytest.mark.parametrize("name", PLAIN)
def test_an_example_prints_what_it_prints_in_pyflink(name: str, tmp_path: Path) -> None:
    program = FOLDER / f"{name}.py"
    expected = lines_of(program, PEERS / "bin" / "python")
    assert expected
    assert of_headgate(program, tmp_path) == expected


def on_kafka(name: str, root: str, broker: KafkaBroker, folder: Path) -> Path:
    """Return an example with the broker's address, a topic of its own, and the connector that is installed."""
    topic = f"{root}-{name}"
    broker.create_topic(topic, partitions=1)
    text = (FOLDER / "connectors" / f"kafka_{name}_format.py").read_text().replace("localhost:9092", broker.bootstrap)
    text = re.sub(r"'test_\w+_topic'", repr(topic), text)
    text = re.sub(r"file:///path/to/flink-sql-connector-kafka-[\d.]+jar", CONNECTOR.as_uri(), text)
    program = folder / f"{topic}.py"
    program.write_text(text)
    return program


@pytest.mark.parametrize("name", TO_AND_FROM_KAFKA)
def test_an_example_reads_from_kafka_what_it_has_written(name: str, tmp_path: Path, broker: KafkaBroker) -> None:
    count = TO_AND_FROM_KAFKA[name]
    found = of_headgate(on_kafka(name, "ours", broker, tmp_path), tmp_path, count)
    # Avro is another jar of PyFlink's; what is read does not depend on the format.
    theirs = on_kafka("json" if name == "avro" else name, f"theirs-{name}", broker, tmp_path)
    assert found == lines_of(theirs, PEERS / "bin" / "python", count=count)
    assert len(found) == count


def test_an_example_writes_to_kafka_what_it_writes_in_pyflink(tmp_path: Path, broker: KafkaBroker) -> None:
    text = (FOLDER / "connectors" / "kafka_row_field_extractor_example.py").read_text()
    text = text.replace("localhost:9092", broker.bootstrap)
    made = "get_execution_environment()\n"
    for root in ("ours", "theirs"):
        broker.create_topic(f"row-{root}", partitions=3)
        (tmp_path / f"{root}.py").write_text(text.replace("row-extractor-example", f"row-{root}"))
    of_headgate(tmp_path / "ours.py", tmp_path)
    theirs = tmp_path / "theirs.py"
    theirs.write_text(theirs.read_text().replace(made, f"{made}    env.add_jars({CONNECTOR.as_uri()!r})\n"))
    lines_of(theirs, PEERS / "bin" / "python")
    assert sorted(texts(broker, "row-ours")) == sorted(texts(broker, "row-theirs"))
    assert len(texts(broker, "row-ours")) == 4
