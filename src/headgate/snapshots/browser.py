"""The browser of a snapshot: its operators, their states, and rows of a state as text, read in a limited time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, TypeVar, final

from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import OperatorManifest
from headgate.checkpoint.restore.snapshots import open_snapshot
from headgate.clock import SystemClock
from headgate.snapshots.list_states import list_states
from headgate.snapshots.pieces import KeyedPieces, StateTooLargeError
from headgate.snapshots.restorer import StateRestorer
from headgate.snapshots.rows import KeyedSearch, RowPage, RowQuery
from headgate.snapshots.sizes import Amount, shared_out
from headgate.snapshots.stand_ins import moved_to
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.unpickle import MissingClassError

T = TypeVar("T")

_MISSING_MAX: Final = 20
"""The number of missing classes that are replaced by stand-ins."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StateOverview:
    """A state of an operator.

    `entries` is the number of entries that were counted, None for operator state. `is_counted` tells whether these are
    all. `size_bytes` is the share of the state in the files of its operator, None if it is unknown. `is_exact` is False
    for an estimate.
    """

    name: str
    kind: str
    type: str | None
    entries: int | None = None
    is_counted: bool = False
    size_bytes: int | None
    is_exact: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorOverview:
    """An operator with its states. `trouble` is the reason if its keyed states could not be read, else None."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    size_bytes: int
    states: tuple[StateOverview, ...]
    trouble: str | None


@final
class SnapshotBrowser:
    """Reads one snapshot. A context manager: leaving it removes temporary files. Its methods block.

    All methods may raise `DamagedFileError` for a damaged file, `StorageError` if storage does not answer, and
    `RestoreError` for state that cannot be restored. An object whose class is missing in this process is shown by the
    name of its class; but the class of a key must not be missing.
    """

    def __init__(self, location: str, moved_classes: Mapping[str, str]) -> None:
        """Open the snapshot at a location. Raises `RestoreError` if there is no complete snapshot."""
        self._opened = open_snapshot(location, FileSystemStore.open_folder)
        self._folder = Path(mkdtemp(prefix="headgate-state-"))
        self._numbers = count()
        self._moved = dict(moved_classes)
        self._restored = StateRestorer(self._opened, self._moved, self._new_folder)
        self._clock = SystemClock()

    def __enter__(self) -> SnapshotBrowser:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _new_folder(self, name: str) -> Path:
        folder = self._folder / f"{name}-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def _with_stand_ins(self, read: Callable[[], T]) -> T:
        """Return the result of `read`. If a class is missing, give it a stand-in and call `read` again."""
        for _ in range(_MISSING_MAX):
            try:
                return read()
            except MissingClassError as error:
                self._moved[error.name] = moved_to(error.name)
        return read()

    # --- operators and states

    @property
    def taken_ms(self) -> int:
        """The time at which the snapshot was triggered, in milliseconds since 1970 UTC."""
        return self._opened.manifest.trigger_ms

    def operators(self, until_ms: float, uids: Collection[str] | None = None) -> list[OperatorOverview]:
        """Return all operators, or the operators with these uids.

        Entries are counted and measured until the monotonic time `until_ms`, small operators first.
        """
        operators = [each for each in self._opened.manifest.operators if uids is None or each.uid in uids]
        found = {each.uid: self._overview(each, until_ms) for each in sorted(operators, key=_size_bytes)}
        return [found[each.uid] for each in operators]

    def _overview(self, operator: OperatorManifest, until_ms: float) -> OperatorOverview:
        trouble = None
        states = [
            StateOverview(name=name, kind=state.kind, type=state.type, size_bytes=state.size_bytes, is_exact=True)
            for name, state in list_states(operator).items()
        ]
        try:
            states = [*self._with_stand_ins(lambda: self._keyed_states(operator, until_ms)), *states]
        except StateTooLargeError as error:
            trouble = str(error)
        return OperatorOverview(
            uid=operator.uid,
            name=operator.name,
            parallelism=operator.parallelism,
            max_parallelism=operator.max_parallelism,
            size_bytes=_size_bytes(operator),
            states=tuple(states),
            trouble=trouble,
        )

    def _keyed_states(self, operator: OperatorManifest, until_ms: float) -> list[StateOverview]:
        pieces = KeyedPieces(self._restored, operator)
        metas: dict[str, StateMeta] = {}
        found: dict[str, Amount] = {}
        left, unread = pieces.groups_held, pieces.subtasks
        for piece in pieces.of(pieces.groups):
            left -= len(piece.groups)
            unread.discard(piece.subtask)
            for meta, amount in piece.amounts():
                metas[meta.name] = meta
                found.setdefault(meta.name, Amount()).add(amount)
            if left and self._clock.monotonic_ms() >= until_ms:
                break
        sizes = shared_out(pieces.size_bytes, found)
        return [
            StateOverview(
                name=name,
                kind=meta.kind,
                type=str(meta.type),
                entries=found[name].entries,
                is_counted=not left,
                size_bytes=sizes[name],
                is_exact=not unread and (len(metas) == 1 or pieces.are_by_state),
            )
            for name, meta in sorted(metas.items())
        ]

    # --- rows

    def rows(self, uid: str, name: str, query: RowQuery) -> RowPage:
        """Return rows of a state. Raises `StateTooLargeError`.

        Raises LookupError, with the existing names, for an unknown operator or state.
        """
        operators = {each.uid: each for each in self._opened.manifest.operators}
        if uid not in operators:
            raise LookupError(f"there is no operator of uid {uid!r} in the snapshot; there are: {', '.join(operators)}")
        lists = list_states(operators[uid])
        if name in lists:
            return lists[name].rows(query, self._opened.store, self._restored.moved)
        page = self._with_stand_ins(lambda: self._keyed_rows(operators[uid], name, query))
        if page.is_complete and not page.kind:
            known = sorted({*lists, *(state.name for state in self._keyed_states(operators[uid], query.until_ms))})
            raise LookupError(
                f"operator {uid!r} has no values of a state {name!r} in the snapshot; its states: "
                f"{', '.join(known) or 'none'}"
            )
        return page

    def _keyed_rows(self, operator: OperatorManifest, name: str, query: RowQuery) -> RowPage:
        pieces = KeyedPieces(self._restored, operator, name)
        search = KeyedSearch(name, query, pieces.groups_held, self._clock)
        likely = set() if query.key is None else query.key.key_groups(operator.max_parallelism)
        search.look(pieces.of(likely))
        if search.may_be_elsewhere:
            search.scan(pieces.of(set(pieces.groups) - likely))
        return search.ended()


def _size_bytes(operator: OperatorManifest) -> int:
    return sum(handle.size_bytes for handle in operator.handles())
