"""Random numbers that follow from a seed and the number of an event, whichever events are made beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)


def mixed(words: _Words) -> _Words:
    """Return 64 random-looking bits for each word: the last step of SplitMix64 (Steele, Lea, Flood 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


class Draws:
    """Random numbers of some events. Each call draws the next number of every event.

    >>> one, both = Draws(1, np.array([7])), Draws(1, np.array([6, 7]))
    >>> bool(one.below(100)[0] == both.below(100)[1])
    True
    """

    def __init__(self, seed: int, numbers: Longs) -> None:
        start = mixed(np.array([seed], np.uint64) * _STEP)
        self._states = mixed(start + numbers.astype(np.uint64) * _STEP)

    def words(self) -> _Words:
        """Return 64 random bits for each event."""
        self._states = self._states + _STEP
        return mixed(self._states)

    def below(self, limits: int | Longs) -> Longs:
        """Return a whole number from 0 to below the limit for each event; there may be a limit for each."""
        return (self.words() % np.asarray(limits, np.uint64)).astype(np.int64)

    def fractions(self) -> npt.NDArray[np.float64]:
        """Return a number from 0 to below 1 for each event."""
        return (self.words() >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def choices(self, values: list[Any]) -> npt.NDArray[Any]:
        """Return one of the values for each event."""
        return np.array(values)[self.below(len(values))]

    def __len__(self) -> int:
        return len(self._states)
