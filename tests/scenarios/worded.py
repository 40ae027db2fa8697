"""A job's map that adds a word to each number, and fails when it is planned: for sinks that write rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from headgate.datastream.functions import MapFunction

COUNT: Final = 300
"""How many numbers the jobs read."""
BURST: Final = 50
EXPECTED: Final = [{"number": number, "word": f"word-{number % 7}"} for number in range(COUNT)]
"""The rows, in the order of their numbers, that are to be there in the end."""
FAULTS: list[int] = []
"""The numbers at which it is to fail; taken out as it does."""


class Worded(MapFunction):
    """Adds a word, and fails once for each number that is planned, when it comes to it or is beyond it."""

    def map(self, value: int) -> tuple[int, str]:
        if FAULTS and value >= FAULTS[0]:
            FAULTS.pop(0)
            raise ValueError(f"planned fault at {value}")
        return value, f"word-{value % 7}"


@pytest.fixture(autouse=True)
def nothing_planned() -> Iterator[None]:
    """No faults are planned in modules that import this."""
    FAULTS.clear()
    yield
    FAULTS.clear()
