"""How the JVMs of tests are started: for a short life, with classes from an archive where `make` has written one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headgate.testing.servers.spark import QUICK_JAVA

BUILD: Final = Path(__file__).parents[1] / "build"


def from_archive(of: str) -> str:
    """Return the options of a JVM that reads its classes from an archive of `spark` or `kafka`, if there is one.

    The JVM says nothing of an archive that does not fit. Such an archive is of another Java, or of other jar files.
    """
    archive = BUILD / f"{of}-classes.jsa"
    return f"-XX:SharedArchiveFile={archive} -Xlog:disable" if archive.exists() else ""


def quick_java() -> str:
    """Return the options of a JVM of Spark that runs briefly."""
    return f"{QUICK_JAVA} {from_archive('spark')}".rstrip()
