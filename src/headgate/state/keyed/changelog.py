"""Changelog: writes changes ahead of the barriers, so that a checkpoint has to write only the tail.

At each `headgate.changelog.cut-interval`, unless a checkpoint has just written them, the changes since the last delta
are written as a new delta. At each `state.changelog.periodic-materialize.interval`, or when the log has become too
long, the whole state is written as a new base. Neither belongs to a checkpoint yet: the next checkpoint names the files
and adds the changes since.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Final, Protocol, final

from headgate import options
from headgate.errors import SerializationError
from headgate.state.backend import BackendContext, KeyedSnapshot
from headgate.state.files import KeyedState
from headgate.state.keyed.increments import IncrementBase, Increments, PendingBase

WALK_SHARE: Final = 0.15
"""The share of the loop's time that a walk may use. Cells that records touch during a walk cost time in addition."""

REST_MS_MAX: Final = 50.0
"""The longest pause after a piece, in ms.

The limit exists because a piece may be slow for other reasons than its size.
"""


def rest_ms(took_ms: float) -> float:
    """Return how long a walk pauses after a piece that took `took_ms`.

    >>> rest_ms(3.0), rest_ms(1_000.0)
    (17.0, 50.0)
    """
    return min(took_ms / WALK_SHARE - took_ms, REST_MS_MAX)


_log = logging.getLogger(__name__)


class ChangelogSnapshot(KeyedSnapshot, PendingBase, Protocol):
    """A snapshot for the changelog: a delta or a whole state."""

    base: IncrementBase | None
    """The base that the snapshot builds on, None for a whole state."""


class ChangelogOwner(Protocol):
    """A backend whose changes can be written at any time."""

    @property
    def has_changes(self) -> bool:
        """Whether anything changed since the base."""
        ...

    def cut(self, base: IncrementBase | None) -> ChangelogSnapshot:
        """Begin a snapshot that belongs to no checkpoint."""
        ...

    def forget(self, pending: KeyedSnapshot) -> None:
        """End the walk of a snapshot."""
        ...

    def base_moved(self) -> None:
        """Forget the changes that only the previous base needed."""
        ...


@final
class Changelog:
    """Writes the changelog of one backend in the background. Owned by the loop."""

    def __init__(self, context: BackendContext, increments: Increments, owner: ChangelogOwner) -> None:
        self._context = context
        self._increments = increments
        self._owner = owner
        self._interval_ms = context.settings.get(options.CHANGELOG_CUT_INTERVAL)
        self._whole_interval_ms = context.settings.get(options.CHANGELOG_MATERIALIZATION_INTERVAL)
        self._walking: ChangelogSnapshot | None = None
        self._writing = False
        self._next_ms: float | None = None
        self._next_part_ms = 0.0
        self._next_whole_ms: float | None = None

    def postpone(self) -> None:
        """Skip the delta of this interval, because a checkpoint begins and writes all changes itself."""
        self._next_part_ms = self._context.clock.monotonic_ms() + self._interval_ms
        if self._walking is not None and self._walking.base is not None:
            self._owner.forget(self._walking)
            self._walking = None

    def advance(self, now_ms: float) -> float:
        """Do a piece of work. Return the monotonic time of the next piece in ms."""
        if self._walking is not None:
            return self._walk(self._walking, now_ms)
        if self._next_ms is None:
            self._schedule_whole(now_ms)
        elif now_ms >= self._next_ms and not self._writing:
            self._begin(now_ms)
        elif not self._writing:
            return self._next_ms
        self._next_ms = now_ms + self._interval_ms
        return now_ms if self._walking is not None else self._next_ms

    def _schedule_whole(self, now_ms: float) -> None:
        self._next_whole_ms = now_ms + self._whole_interval_ms if self._whole_interval_ms > 0 else None

    def _begin(self, now_ms: float) -> None:
        base = self._increments.base
        whole_is_due = self._next_whole_ms is not None and now_ms >= self._next_whole_ms
        if base is None or base.has_long_log or whole_is_due:
            self._schedule_whole(now_ms)
            self._walking = self._owner.cut(None)
            self._increments.whole_begun(self._walking.generation)
        elif now_ms >= self._next_part_ms and self._owner.has_changes:
            self._walking = self._owner.cut(base)

    def _walk(self, cut: ChangelogSnapshot, now_ms: float) -> float:
        clock = self._context.clock
        began_ms = clock.monotonic_ms()
        try:
            if not cut.advance():
                took_ms = clock.monotonic_ms() - began_ms
                return now_ms + took_ms + rest_ms(took_ms)
        except SerializationError as error:
            self._written(cut, error)
        else:
            self._writing = True
            services = self._context.services
            services.submit(lambda: cut.store(services.state_writer()), partial(self._written, cut))
        self._owner.forget(cut)
        self._walking = None
        self._next_ms = now_ms + self._interval_ms
        return self._next_ms

    def _written(self, cut: ChangelogSnapshot, result: KeyedState | BaseException) -> None:
        """Use the written files as the base, unless a newer base has replaced the old one."""
        self._writing = False
        if isinstance(result, BaseException):
            _log.warning("operator %r could not write its changelog: %s", self._context.name, result)
            if cut.base is None:
                self._increments.whole_failed()
        elif cut.base is None:
            self._increments.whole_written(IncrementBase(cut.generation, result))
        elif self._increments.base is not None and self._increments.since < cut.generation:
            self._increments.advance(IncrementBase(cut.generation, result))
        self._owner.base_moved()
