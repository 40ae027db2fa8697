"""How many examples a property test tries: a small sample, always the same, or many at random in `make soak-long`."""

from __future__ import annotations

import os
from typing import Final

SEARCHES: Final = os.environ.get("HEADGATE_SEARCH") == "1"
"""Whether to search at random for examples that fail, as `make soak-long` does."""


def sample_size(thorough: int, at_most: int = 75) -> int:
    """Return how many examples to try, of a test that tries `thorough` when it is to find a fault by itself.

    A quarter, but at least ten and `at_most` so many, is enough to notice what a change breaks; twice as many, other
    ones in each run, find what no change of today broke.
    """
    return 2 * thorough if SEARCHES else min(max(10, thorough // 4), at_most)
