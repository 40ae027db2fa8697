"""What holds for every test: hypothesis measures no time, because a shared machine is slow now and then.

Its examples are the same in each run, and few, but in `make soak-long`.

JVMs of Spark drivers are tuned for a short life. Drivers of jobs leave their addresses in a folder of the test run, not
in the user's. Temporary files are kept in memory where it has room: tests that write state and tables need half of
the processor time there, and wait for no disk.
"""

from __future__ import annotations

import gc
import getpass
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from tests.by_server import pytest_xdist_make_scheduler  # noqa: F401  # a hook
from tests.quick_java import from_archive, quick_java
from tests.sample_size import SEARCHES, sample_size
from tests.scenarios.paced import HURRY

pytest.register_assert_rewrite("tests.contract.backends.backend", "tests.contract.backends.backend_scenarios")

settings.register_profile("headgate", deadline=None, derandomize=not SEARCHES, max_examples=sample_size(100))
settings.load_profile("headgate")
os.environ.setdefault("SPARK_SUBMIT_OPTS", quick_java())  # what Spark itself adds to the options of a driver's JVM
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", quick_java())  # and of a master and a worker
os.environ.setdefault("KAFKA_OPTS", from_archive("kafka"))

MEMORY: Final = Path("/dev/shm")
ROOM_MIN: Final = 3 << 30
"""Bytes that have to be free. Files of a test that passes go with it, so much less is used at a time."""


def keep_files_in_memory() -> None:
    """Have this process, and those that it starts, keep temporary files in memory, unless the user says where."""
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_MIN:
        folder = MEMORY / f"headgate-tests-{getpass.getuser()}"
        folder.mkdir(exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        os.environ.setdefault("SPARK_LOCAL_DIRS", str(folder))


keep_files_in_memory()
gc.disable()  # until all tests are collected: what the collection makes stays, and was gone over again and again


@pytest.fixture(scope="session", autouse=True)
def _run_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUN_DIRECTORY, str(tmp_path_factory.mktemp("drivers") / "run"))
        yield


@pytest.fixture(autouse=True)
def _paced() -> None:
    """Paced numbers come at their pace, whatever the test before asked for."""
    HURRY.clear()


def pytest_collection_finish() -> None:
    """The tests themselves live to the end: the garbage collector need not go over them again and again."""
    gc.freeze()
    gc.enable()
