"""How the JVMs of tests are started: for a short life, with classes from an archive where `make` has written one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headgate.testing.servers.spark import QUICK_JAVA

ARCHIVE: Final = Path(__file__).parents[1] / "build" / "java-classes.jsa"
"""Classes that Spark loads (`tests.cluster.java_classes`). Other Javas, and other releases of Spark, do not use it."""


def quick_java() -> str:
    """Return the options of a JVM that runs briefly, and says nothing of an archive that does not fit."""
    return f"{QUICK_JAVA} -XX:SharedArchiveFile={ARCHIVE} -Xlog:disable" if ARCHIVE.exists() else QUICK_JAVA
