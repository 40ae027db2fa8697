"""The backend against a plain dict: any order of changes, batches, snapshots under way, aborts and restores."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate.state.backend import KeyedSnapshot
from headgate.state.files import FetchedKeyed
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.types.typed_key import typed
from tests.sample_size import sample_size
from tests.unit.state.backends import at, backend_of, begin, contents, finish, get, restored, value_state

KEYS = (st.integers(0, 12) | st.sampled_from(["a", "b", None, 1.0, True, ("t", 1), [1], {"a": 1}])).map(typed)
VALUES = st.none() | st.integers() | st.lists(st.integers(), max_size=2)


@dataclass
class UnderWay:
    """A snapshot that is being walked, and what it must hold."""

    pending: KeyedSnapshot
    expected: dict[str, dict[Any, Any]]


class StateAgainstDict(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.backend: HashMapBackend = backend_of()
        self.model: dict[str, dict[Any, Any]] = {"v": {}, "w": {}}
        self.under_way: list[UnderWay] = []
        self.files: list[tuple[FetchedKeyed, dict[str, dict[Any, Any]]]] = []

    @rule(changes=st.lists(st.tuples(st.sampled_from(["v", "w"]), KEYS, VALUES), min_size=1, max_size=8))
    def batch(self, changes: list[tuple[str, Any, Any]]) -> None:
        """Change values of several keys, and leave only then."""
        for name, key, value in changes:
            state = value_state(self.backend, name)
            with at(self.backend, key):
                state.update(copy.copy(value))
            if value is None:
                self.model[name].pop(key, None)
            else:
                self.model[name][key] = copy.copy(value)

    @rule(key=KEYS, number=st.integers())
    def change_in_place(self, key: Any, number: int) -> None:
        value = get(self.backend, value_state(self.backend), key)
        assert value == self.model["v"].get(key)
        if isinstance(value, list):
            value.append(number)
            self.model["v"][key] = copy.copy(value)

    @precondition(lambda self: len(self.under_way) < 3)
    @rule()
    def begin_snapshot(self) -> None:
        self.under_way.append(UnderWay(begin(self.backend), copy.deepcopy(self.model)))

    @precondition(lambda self: self.under_way)
    @rule()
    def advance(self) -> None:
        self.under_way[0].pending.advance()

    @precondition(lambda self: self.under_way)
    @rule()
    def end_snapshot(self) -> None:
        oldest = self.under_way.pop(0)
        self.files.append((finish(self.backend, oldest.pending), oldest.expected))

    @precondition(lambda self: self.under_way)
    @rule(which=st.integers(0, 2))
    def give_up(self, which: int) -> None:
        self.backend.forget(self.under_way.pop(which % len(self.under_way)).pending)

    @precondition(lambda self: self.files)
    @rule(which=st.integers(0, 100))
    def restore(self, which: int) -> None:
        data, expected = self.files[which % len(self.files)]
        self.backend, self.model, self.under_way = restored(data), copy.deepcopy(expected), []

    @precondition(lambda self: self.files)
    @rule(which=st.integers(0, 100), at_group=st.integers(1, 127))
    def restore_in_two_halves(self, which: int, at_group: int) -> None:
        data, expected = self.files[which % len(self.files)]
        halves = [restored(data, groups=range(at_group)), restored(data, groups=range(at_group, 128))]
        for name in ("v", "w"):
            one, other = (contents(half, name) for half in halves)
            assert not one.keys() & other.keys()
            assert one | other == expected[name]

    @invariant()
    def every_key_with_a_value_is_there_and_no_other(self) -> None:
        assert set(self.backend.cells) == self.model["v"].keys() | self.model["w"].keys()
        assert self.backend._cell_index.live == len(self.backend.cells)

    def teardown(self) -> None:
        for name in ("v", "w"):
            assert contents(self.backend, name) == self.model[name]


TestStateAgainstDict = StateAgainstDict.TestCase
TestStateAgainstDict.settings = settings(max_examples=sample_size(60), stateful_step_count=40, deadline=None)
