"""With `--dist loadfile`, one process runs the tests of a file, and of all files that share a server.

Each process starts its own broker and its own cluster of Spark, which cost ten seconds of a core and more. Simulated
jobs share nothing, and a file of them takes long: any process runs the next one.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling

SHARED: Final = (
    "tests/browser/",
    "tests/kafka/",
    "tests/postgres/",
    "tests/cluster/test_(bare_workers|chaos|late_executors|rescaling_on_a_cluster|shipping|standalone)",
)
"""What the files that share a server, or a browser, begin with."""
ALONE: Final = ("tests/simulation/", "tests/scenarios/")
"""What the files begin with whose tests are dealt one by one."""


class ByServer(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """Deals whole files, those that share a server together, and tests of simulated jobs one by one."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ALONE):
            return nodeid
        return next((files for files in SHARED if re.match(files, nodeid)), super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal as `ByServer` does, if files are to be dealt."""
    return ByServer(config, log) if config.getoption("dist") == "loadfile" else None
