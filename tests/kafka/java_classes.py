"""Writes the Java classes that a broker loads into an archive: `python -m tests.kafka.java_classes ARCHIVE`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from headgate.testing.servers.kafka import KafkaBroker


def main(archive: Path) -> None:
    """Write the archive when a broker ends that has served clients."""
    with tempfile.TemporaryDirectory() as folder, KafkaBroker(Path(folder) / "kafka") as broker:
        broker.kill()
        os.environ["KAFKA_OPTS"] = (
            f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable"  # not for what formats its folder
        )
        broker.start()
        broker.create_topic("numbers")
        broker.write("numbers", [b"1", b"2"])
        assert len(broker.read_committed("numbers")) == 2
        broker.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
