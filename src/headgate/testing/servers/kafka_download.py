"""The files of an Apache Kafka broker: fetched once by Maven, and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from headgate.errors import EnvironmentFault

KAFKA_VERSION: Final = "4.3.0"

_DEADLINE_S: Final = 600
_POM: Final = f"""<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>headgate.testing</groupId>
  <artifactId>kafka-broker</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"""


def missing_programs() -> str | None:
    """Return which program to install before a broker can start here, None if none is missing."""
    if shutil.which("java") is None:
        return "a Kafka broker needs Java 17 or newer: install it (on Debian: apt-get install default-jre-headless)"
    if shutil.which("mvn") is None and not _cached().exists():
        return "a Kafka broker's files are fetched by Maven: install it (on Debian: apt-get install maven)"
    return None


def broker_files() -> Path:
    """Return the folder of the broker's jar files. The first call fetches the files, and blocks meanwhile.

    Raises `EnvironmentFault` with Maven's output when they cannot be fetched.
    """
    files = _cached()
    if not files.exists():
        files.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=files.parent) as folder:
            _fetch(Path(folder))
            _publish(Path(folder) / "jars", files)
    return files


def _cached() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "headgate" / f"kafka-{hashlib.sha256(_POM.encode()).hexdigest()[:16]}"


def _fetch(folder: Path) -> None:
    (folder / "pom.xml").write_text(_POM)
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=jars"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(f"the files of Kafka {KAFKA_VERSION} could not be fetched: {error}") from error
    if done.returncode != 0 or not (folder / "jars").is_dir():
        said = (done.stdout + done.stderr)[-2000:]
        raise EnvironmentFault(f"the files of Kafka {KAFKA_VERSION} could not be fetched; {' '.join(command)}: {said}")


def _publish(fetched: Path, files: Path) -> None:
    """Rename the folder in one step: if several runs fetch at a time, the first one wins."""
    try:
        fetched.rename(files)
    except OSError:
        if not files.exists():
            raise
