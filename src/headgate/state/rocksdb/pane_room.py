"""Room: how many entries of panes may be in memory, by a limit in bytes and by what entries take."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, final

from headgate.errors import SerializationError
from headgate.state.formats.codecs import pickled

ENTRY_BYTES: Final = 120
"""What an entry without a value takes in memory: a key, its place in a dictionary."""
BYTES_PER_BYTE: Final = 3
"""What objects take in memory, more or less, for each byte that they take when written."""
MEASURED: Final = 64
"""So many entries are looked at to tell what all take."""


@final
class PaneRoom:
    """`copies` is how many values whoever uses the panes holds for each entry."""

    def __init__(self, limit_bytes: int, copies: int) -> None:
        self.limit_bytes = limit_bytes
        self.copies = copies
        self.left = 0
        """So many entries at least may be added before the limit is reached."""
        self._entry_bytes = float(ENTRY_BYTES)

    @property
    def most(self) -> int:
        """How many entries there may be."""
        return int(self.limit_bytes / self.copies / self._entry_bytes)

    def excess(self, entries: int) -> int:
        """Return how many entries more there are than there may be, and somewhat more, 0 for none."""
        most = self.most
        self.left = min(most - entries, max(entries, MEASURED))
        return entries - most + most // 8 if entries > most else 0

    def measure(self, some: list[tuple[Any, Any]]) -> None:
        """Take what these entries take for what all take."""
        if some:
            with suppress(SerializationError):
                self._entry_bytes = ENTRY_BYTES + BYTES_PER_BYTE * len(pickled(some)) / len(some)
