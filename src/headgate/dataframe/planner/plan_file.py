"""Plan files: they pin the uids of a program's operators with state, for changes that would give them other uids.

An operator of a plan file is found in a changed program by its derived uid, else by its place: the write that it
belongs to, its kind, and its number among the operators of this kind, counted from the sources.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self, final

from headgate.dataframe.planner.identity import digest_of, form_of_state, uid_of
from headgate.dataframe.planner.logical import Relation, inputs_of
from headgate.errors import ProgramError

VERSION: Final = 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedUid:
    """The uid of an operator, the uid that the planner derived for it, and the form of its state."""

    place: str
    uid: str
    derived: str
    state: str


@final
class CompiledPlan:
    """The uids of the operators with state of a statement set, made by `StatementSet.compile_plan`.

    >>> from headgate import dataframe as pf
    >>> writes = pf.create_statement_set()
    >>> pf.range(3).limit(2).write_json("/data/ids", statement_set=writes)
    >>> [own.place for own in writes.compile_plan().operators]
    ['files /data/ids: Scan 1', 'files /data/ids: Limit 1']
    """

    def __init__(self, operators: Iterable[PinnedUid]) -> None:
        """Use `StatementSet.compile_plan`, `from_file` or `from_json_string`."""
        self.operators = tuple(operators)

    @classmethod
    def from_json_string(cls, text: str) -> Self:
        """Return the plan of a JSON text. Raises ValueError for a text that is no plan of this version."""
        try:
            read = json.loads(text)
            operators = [PinnedUid(**own) for own in read["operators"]]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"the text is no compiled plan: {error!r}") from None
        if read.get("version") != VERSION:
            raise ValueError(f"the compiled plan has version {read.get('version')!r}, but {VERSION} is known")
        return cls(operators)

    @classmethod
    def from_file(cls, path: str) -> Self:
        """Return the plan of a file. Raises ValueError for a file that is no plan, and OSError if it cannot be read."""
        return cls.from_json_string(Path(path).read_text())

    def as_json_string(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps({"version": VERSION, "operators": [asdict(own) for own in self.operators]}, indent=2)

    def write_to_file(self, file: str, ignore_if_exists: bool = False) -> None:
        """Write the plan to a new file. A file that exists stays, with `ignore_if_exists`, else FileExistsError."""
        try:
            with Path(file).open("x") as out:
                out.write(self.as_json_string() + "\n")
        except FileExistsError:
            if not ignore_if_exists:
                raise


@final
class Uids:
    """Gives the operators with state of one job their uids, and remembers them."""

    def __init__(self, plans: Sequence[Relation], pinned: CompiledPlan | None) -> None:
        """`plans` are all plans of the job, after the planner's rules."""
        self.given: list[PinnedUid] = []
        self.of_sinks: set[str] = set()
        own = () if pinned is None else pinned.operators
        derived = {uid_of(each) for plan in plans for each in _relations(plan)} if own else set()
        self._by_uid = {each.derived: each for each in own}
        self._by_place = {each.place: each for each in own if each.derived not in derived}
        self._counts: Counter[str] = Counter()

    def of_sink(self, write: str, taken: set[str]) -> str:
        """Return the uid of the sink of a write, by the name of the write."""
        uid = _free(f"Sink-{digest_of(write)}", taken)
        self.of_sinks.add(uid)
        return uid

    def uid(self, write: str, plan: Relation, taken: set[str]) -> str:
        """Return the uid of a relation's operator. The second of equal operators gets another uid.

        Raises ProgramError for a pinned operator whose state now has another form.
        """
        derived = _free(uid_of(plan), taken)
        kind = f"{write}: {type(plan).__name__}"
        self._counts[kind] += 1
        place = f"{kind} {self._counts[kind]}"
        pinned = self._by_uid.get(derived) or self._by_place.get(place)
        state = form_of_state(plan)
        if pinned is not None and pinned.state != state:
            raise ProgramError(
                f"the plan file pins the uid {pinned.uid} of {place!r}, whose state was {pinned.state}, but the "
                f"program's is {state}: remove the entry from the file, and the operator begins without state"
            )
        uid = derived if pinned is None else pinned.uid
        self.given.append(PinnedUid(place=place, uid=uid, derived=derived, state=state))
        return uid


def _free(uid: str, taken: set[str]) -> str:
    count = 1
    free = uid
    while free in taken:
        count += 1
        free = f"{uid}-{count}"
    return free


def _relations(plan: Any) -> Iterator[Relation]:
    yield plan
    for below in inputs_of(plan):
        yield from _relations(below)
