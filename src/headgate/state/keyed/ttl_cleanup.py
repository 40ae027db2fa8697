"""Incremental clean-up: finds expired state that is not read, a few keys at a time, while the state is in use."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol, final

from headgate.state.keyed.cells import Cell
from headgate.state.kinds.forms import StoredForm
from headgate.state.ttl import StateTtlConfig


class CleanupOwner(Protocol):
    """What a backend offers that holds all its state in cells. Stored lists and maps are plain ones there."""

    cell: Cell
    emptied: list[Cell]

    def live_cells(self) -> Iterator[Cell]:
        """Yield all cells, once; some that come or go meanwhile may be left out."""
        ...

    def touch(self, cell: Cell) -> None:
        """Make a cell safe to change that is not the current one."""
        ...


TIMES_A_BATCH: Final = 64
"""How many records a batch counts for, where keys are checked for every record: many, yet a bounded piece of work."""


@final
class IncrementalCleanup:
    """Sweeps one state, `keys` keys at a time, round after round. The current key is left alone.

    After a round it rests until what was oldest in it can have expired.
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
        """Whether the owner is to call `advance` for records too, and not the handle alone for each access."""

        self._round: Iterator[Cell] | None = None
        self._oldest_ms = 0
        self._rest_until_ms: int | None = None

    def advance(self, now_ms: int, times: int = 1) -> None:
        """Check the next keys, so many times over. An owner calls it once for a batch of records."""
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
        living = stored if cell is owner.cell else self._form.living(stored, now_ms - self._ttl_ms)
        if living is not None:
            self._oldest_ms = min(self._oldest_ms, self._form.oldest_ms(living))
        if living is not stored:
            owner.touch(cell)
            cell[self._column] = living
            if living is None:
                owner.emptied.append(cell)


def cleanup_of(form: StoredForm, config: StateTtlConfig, owner: CleanupOwner, column: int) -> IncrementalCleanup | None:
    """Return the incremental clean-up of a state, None when it is configured to have none."""
    strategy = config.get_cleanup_strategies().get_incremental_cleanup_strategy()
    if strategy is None or strategy.get_cleanup_size() == 0:
        return None
    return IncrementalCleanup(form, owner, column, config)
