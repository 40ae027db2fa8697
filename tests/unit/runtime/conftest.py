"""Slots of tests are shut down: a database that outlives the folder that it is in stops the process for a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.runtime.control.messages import Shutdown
from tests.unit.runtime.plans import RUNNING


@pytest.fixture(autouse=True)
def _slots_end() -> Iterator[None]:
    yield
    while RUNNING:
        RUNNING.pop().tell(Shutdown())
