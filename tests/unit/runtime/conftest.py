"""Each test begins with no failures planned, and its slots are shut down at its end.

A database that outlives its folder stops the process for a second.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.runtime.control.messages import Shutdown
from tests.unit.runtime.master.test_job_master import CALLS, FAIL_AT
from tests.unit.runtime.plans import RUNNING


@pytest.fixture(autouse=True)
def _slots_end() -> Iterator[None]:
    yield
    while RUNNING:
        RUNNING.pop().tell(Shutdown())


@pytest.fixture(autouse=True)
def _failing_begins_anew() -> None:
    """`Failing` counts its calls over all attempts of a test. Tests of several modules use it."""
    FAIL_AT.clear()
    CALLS[0] = 0
