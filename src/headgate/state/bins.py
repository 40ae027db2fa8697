"""Bins: where the entries of a snapshot wait until those of a key group are enough to be pickled in one go."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final, final

from headgate.state.snapshot import Entry, SnapshotWriter

FRAME_ENTRIES: Final = 128
"""So many entries of a key group are pickled together: fewer cost more each."""

_IMMUTABLE: Final = frozenset({int, float, str, bytes, bool, type(None), complex})


@final
class Bins:
    """The bins of one file. `by_group`: the file has its entries by key group."""

    __slots__ = ("_bins", "_by_group", "_writer")

    def __init__(self, writer: SnapshotWriter, *, by_group: bool) -> None:
        self._writer = writer
        self._by_group = by_group
        self._bins: dict[int, list[Entry]] = {}

    def add(self, entries: list[Entry]) -> None:
        """Add entries of any key groups, whose values may change after this call.

        They wait only if nothing can change them. Raises `SerializationError` naming the state that cannot be pickled.
        """
        if not self._by_group:
            self._writer.add(0, entries)
            return
        if not _are_immutable(entries):
            for group, own in _by_group(entries).items():
                self._writer.add(group, own)
            return
        bins = self._bins
        for entry in entries:
            group = entry[0]
            if group in bins:
                waiting = bins[group]
                waiting.append(entry)
                if len(waiting) >= FRAME_ENTRIES:
                    self._writer.add(group, bins.pop(group))
            else:
                bins[group] = [entry]

    def empty(self, entries_max: int) -> bool:
        """Pickle about so many of the entries that wait; return whether none is left."""
        while self._bins and entries_max > 0:
            group, entries = self._bins.popitem()
            self._writer.add(group, entries)
            entries_max -= max(len(entries), FRAME_ENTRIES // 4)
        return not self._bins


def _by_group(entries: list[Entry]) -> dict[int, list[Entry]]:
    found: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry[0]].append(entry)
    return found


def _are_immutable(entries: list[Entry]) -> bool:
    return all(_is_column_immutable(column) for column in zip(*entries, strict=True))


def _is_column_immutable(column: tuple[Any, ...]) -> bool:
    kinds = set(map(type, column)) - _IMMUTABLE
    return not kinds or (kinds == {tuple} and all(map(_is_immutable, column)))


def _is_immutable(value: Any) -> bool:
    kind = type(value)
    return kind in _IMMUTABLE or (kind is tuple and all(map(_is_immutable, value)))
