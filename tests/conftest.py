"""What holds for every test: hypothesis measures no time, because a shared machine is slow now and then.

Its examples are the same in each run, and few, but in `make soak-long`.

JVMs of Spark drivers are tuned for a short life. Drivers of jobs leave their addresses in a folder of the test run, not
in the user's.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.testing.servers.spark import QUICK_JAVA
from tests.sample_size import SEARCHES, sample_size
from tests.scenarios.paced import HURRY

pytest.register_assert_rewrite("tests.contract.backends.backend", "tests.contract.backends.backend_scenarios")

settings.register_profile("headgate", deadline=None, derandomize=not SEARCHES, max_examples=sample_size(100))
settings.load_profile("headgate")
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JAVA)  # what Spark itself adds to the options of a driver's JVM


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
    gc.collect()
    gc.freeze()
