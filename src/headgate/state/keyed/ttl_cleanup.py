"""Incremental clean-up: removes expired state that nobody reads, a few keys with each access to the state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol, final

from headgate.state.keyed.cells import Cell, Current
from headgate.state.kinds.forms import StoredForm
from headgate.state.ttl import StateTtlConfig


class CleanupOwner(Protocol):
    """The interface of a backend that holds all its state in cells, with plain lists and dicts in them."""

    current: Current
    emptied: list[Cell]

    def live_cells(self) -> Iterator[Cell]:
        """Yield each cell once. Cells that are added or removed during the iteration may be missing."""
        ...

    def touch(self, cell: Cell) -> None:
        """Make a cell other than the current one safe to change."""
        ...


TIMES_A_BATCH: Final = 64
"""The number of accesses that a batch counts as, if records also check keys.

The number is large, but it bounds the work of a batch.
"""


@final
class IncrementalCleanup:
    """Checks the keys of one state, `keys` at a time, round after round. It skips the current key.

    After a round it pauses until the oldest value of the round can have expired.
    """

    __slots__ = (
        "_column",
        "_form",
        "_keys",
        "_oldest_ms",
        "_owner",
        "_rest_until_ms",
        "_round",
        "_ttl_ms",
        "for_every_record",
    )

    def __init__(self, form: StoredForm, owner: CleanupOwner, column: int, config: StateTtlConfig) -> None:
        strategy = config.get_cleanup_strategies().get_incremental_cleanup_strategy()
        self._form = form
        self._owner = owner
        self._column = column
        self._ttl_ms = config.get_ttl().to_milliseconds()
        self._keys = strategy.get_cleanup_size() if strategy else 0
        self.for_every_record = strategy is not None and strategy.run_cleanup_for_every_record()
        """Whether the backend calls `advance` for each batch, besides the call of the handle for each access."""

        self._round: Iterator[Cell] | None = None
        self._oldest_ms = 0
        self._rest_until_ms: int | None = None

    def advance(self, now_ms: int, times: int = 1) -> None:
        """Check the next keys: `times` times as many as an access checks. The backend calls it once for each batch."""
        if self._rest_until_ms is not None and now_ms < self._rest_until_ms:
            return
        if self._round is None:
            self._rest_until_ms, self._oldest_ms = None, now_ms
            self._round = self._owner.live_cells()
        count = self._keys * times
        cells = list(islice(self._round, count))
        for cell in cells:
            if cell[self._column] is not None:
                self._check(cell, now_ms)
        if len(cells) < count:
            self._round, self._rest_until_ms = None, self._oldest_ms + self._ttl_ms

    def _check(self, cell: Cell, now_ms: int) -> None:
        owner, stored = self._owner, cell[self._column]
        living = stored if cell is owner.current.cell else self._form.living(stored, now_ms - self._ttl_ms)
        if living is not None:
            self._oldest_ms = min(self._oldest_ms, self._form.oldest_ms(living))
        if living is not stored:
            owner.touch(cell)
            cell[self._column] = living
            if living is None:
                owner.emptied.append(cell)


def cleanup_of(form: StoredForm, config: StateTtlConfig, owner: CleanupOwner, column: int) -> IncrementalCleanup | None:
    """Return the incremental clean-up of a state, None if its configuration disables it."""
    strategy = config.get_cleanup_strategies().get_incremental_cleanup_strategy()
    if strategy is None or strategy.get_cleanup_size() == 0:
        return None
    return IncrementalCleanup(form, owner, column, config)
