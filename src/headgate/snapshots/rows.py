"""Rows of a state as text: the query, the page of the answer, and the search in pieces of state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, final

from headgate.clock import Clock
from headgate.snapshots.key_text import KeyText, is_plain
from headgate.snapshots.pieces import Piece
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import VALUES, Entry
from headgate.state.keyed.cells import namespace_of, plain_key
from headgate.state.keyed.saved_files import SavedFile
from headgate.types.excerpt import excerpt

CELL_CHARACTERS_MAX: Final = 2_000
PAGE_CHARACTERS_MAX: Final = 200_000
_ENTRIES_AT_ONCE: Final = 256
"""The number of entries that are read between two checks of the time."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuery:
    """The wanted rows: the rows of one key, or all rows from `offset`; and the monotonic time at which to stop."""

    key: KeyText | None = None
    offset: int = 0
    limit: int = 100
    until_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A row as text. Elements of lists have no key."""

    subtask: int
    key: str | None
    value: str
    namespace: str | None = None
    last_access_ms: int | None = None


@final
@dataclass(slots=True, kw_only=True)
class RowPage:
    """Rows of a state: the wanted number, or as many as an answer may have.

    `more` tells whether further rows follow. `entries_read` entries were read, in `groups_read` of the `groups` key
    groups with state. `is_complete` is True if no unread entry can belong on the page, and False if the time was up
    before.
    """

    kind: str = ""
    type: str | None = None
    rows: list[ShownRow] = field(default_factory=list)
    more: bool = False
    entries_read: int = 0
    groups_read: int = 0
    groups: int = 0
    is_complete: bool = False


@final
class RowTaker:
    """Puts wanted rows on a page."""

    def __init__(self, page: RowPage, query: RowQuery) -> None:
        self._page = page
        self._query = query
        self._skipped = 0
        self._characters = 0

    def take(self, row: ShownRow) -> None:
        """Put the next row on the page. Skip it before the offset, and set `more` instead if the page is full."""
        if self._skipped < self._query.offset:
            self._skipped += 1
            return
        own = len(row.value) + len(row.key or "") + len(row.namespace or "")
        rows = self._page.rows
        if len(rows) >= self._query.limit or (rows and self._characters + own > PAGE_CHARACTERS_MAX):
            self._page.more = True
            return
        self._characters += own
        rows.append(row)


@final
class KeyedSearch:
    """Searches pieces of the state of an operator for rows of one keyed state. Blocks.

    Raises errors of reading pieces.
    """

    def __init__(self, name: str, query: RowQuery, groups: int, clock: Clock) -> None:
        """`groups` is the number of key groups with state."""
        self.page: Final = RowPage(groups=groups)
        self._name = name
        self._query = query
        self._clock = clock
        self._taker = RowTaker(self.page, query)
        self._only_plain = True
        self._is_over = False

    @property
    def may_be_elsewhere(self) -> bool:
        """Whether other pieces may have wanted rows, and there is time to search them."""
        if self.page.more or self._is_over:
            return False
        if self._query.key is None:
            return True
        # A key has one key group, so a found key is nowhere else. If all keys so far are plain, `look` has searched
        # each key group that the text may mean.
        return not self.page.rows and not (self._only_plain and self.page.entries_read)

    def look(self, pieces: Iterable[Piece]) -> None:
        """Search pieces that probably have the key, until the time is up or the page is full."""
        for piece in pieces:
            self._read(piece)
            if self.page.more or self._is_over:
                return

    def scan(self, pieces: Iterable[Piece]) -> None:
        """Search all other pieces, as long as they may have wanted rows."""
        for piece in pieces:
            self._read(piece)
            if not self.may_be_elsewhere:
                return

    def ended(self) -> RowPage:
        """Return the page."""
        self.page.is_complete = not (self._is_over or self.page.more)
        return self.page

    def _read(self, piece: Piece) -> None:
        for file in piece.files:
            at = next((at for at, meta in enumerate(file.states) if meta.name == self._name), None)
            if at is not None:
                self._read_file(piece, file, at)
        if not self._is_over:
            self.page.groups_read += len(piece.groups)
            self._is_over = self.page.groups_read < self.page.groups and self._time_is_up()

    def _read_file(self, piece: Piece, file: SavedFile, at: int) -> None:
        meta = file.states[at]
        self.page.kind, self.page.type = meta.kind, str(meta.type)
        for number, entry in enumerate(file.entries(piece.groups), 1):
            if at + VALUES < len(entry) and entry[at + VALUES] is not None:
                self._take(piece.subtask, meta, entry, entry[at + VALUES])
            if number % _ENTRIES_AT_ONCE == 0:
                self._is_over = self._time_is_up()
            if self.page.more or self._is_over:
                return

    def _time_is_up(self) -> bool:
        return self._clock.monotonic_ms() >= self._query.until_ms

    def _take(self, subtask: int, meta: StateMeta, entry: Entry, stored: Any) -> None:
        self.page.entries_read += 1
        key, namespace = plain_key(entry[1]), namespace_of(entry[1])
        if self._query.key is not None:
            self._only_plain = self._only_plain and is_plain(key)
            if not self._query.key.stands_for(key):
                return
        time, value = meta.form.split(stored, ttl=meta.ttl) or (None, stored)
        self._taker.take(
            ShownRow(
                subtask=subtask,
                key=excerpt(key, CELL_CHARACTERS_MAX),
                namespace=None if namespace is None else excerpt(namespace, CELL_CHARACTERS_MAX),
                value=excerpt(value, CELL_CHARACTERS_MAX),
                last_access_ms=time if isinstance(time, int) else None,
            )
        )
