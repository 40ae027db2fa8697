"""A driver that dies inside a savepoint, several times: nothing that it had prepared for the savepoint stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.postgres import PostgresSink, PostgresTable, PreparedPostgresSink
from headgate.datastream import StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.functions.sink import Sink
from headgate.runtime.job_storage.lease import Lease
from tests.postgres.databases import TestDatabase

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]
DIED: Final = 9
SINKS: Final[dict[str, Callable[[PostgresTable], Sink[Any]]]] = {
    "staged": PostgresSink,
    "prepared": PreparedPostgresSink,
}


def submit(kind: str, url: str, folder: str) -> Any:
    """Start the job, or go on with it."""
    settings = {
        "headgate.deploy.target": "minicluster",
        "headgate.job.id": "5a" * 16,
        "headgate.storage.dir": folder,
        "execution.checkpointing.interval": "50 ms",
        "parallelism.default": "2",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    numbers = env.from_source(DataGeneratorSource(lambda index: (index,), None, 2_000.0), None, "numbers").uid("in")
    numbers.sink_to(SINKS[kind](PostgresTable(url, "numbers", ["number"]))).uid("out")
    return env.submit()


def die_inside_a_savepoint(kind: str, url: str, folder: str) -> None:
    """Run the job, and have the process killed when all of a savepoint is there but its manifest."""
    store = Lease.store

    def stored(self: Lease, manifest: Any, savepoint: Any) -> Any:
        if manifest.savepoint is not None:
            os._exit(DIED)
        return store(self, manifest, savepoint)

    Lease.store = stored  # type: ignore[method-assign]
    job = submit(kind, url, folder)
    while len(job.progress.checkpoints) < 2:
        assert job.wait(0.01) is None
    job.trigger_savepoint(f"{folder}/savepoints", SavepointFormat.CANONICAL).result(60.0)


@pytest.mark.parametrize("kind", SINKS)
def test_what_was_prepared_for_savepoints_whose_driver_died_is_gone_in_the_end(
    kind: str, database: TestDatabase, tmp_path: Path
) -> None:
    database.execute("CREATE TABLE numbers (number bigint)")
    call = f"die_inside_a_savepoint({kind!r}, {database.url!r}, {str(tmp_path)!r})"
    script = f"from tests.postgres.test_savepoint_crashes import die_inside_a_savepoint; {call}"
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == DIED, done.stderr
        assert database.execute("SELECT count(DISTINCT savepoint) FROM headgate.kept") == [(1,)]
    job = submit(kind, database.url, str(tmp_path))
    while len(job.progress.checkpoints) < 2:
        assert job.wait(0.01) is None
    assert database.execute("SELECT * FROM headgate.kept") == []
    job.cancel()
    assert job.wait(60.0) is not None
    assert (database.prepared(), database.staged()) == ([], [])
    assert list((tmp_path / "savepoints").iterdir()) == []
    numbers = [number for (number,) in database.execute("SELECT number FROM numbers ORDER BY number")]
    assert numbers == sorted(set(numbers))
