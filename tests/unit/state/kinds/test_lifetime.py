"""State with a time to live: what expires when, what is shown, what a read refreshes, in each kind of state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from headgate.clock import VirtualClock
from headgate.errors import StateAccessError
from headgate.state.keyed.cells import FIRST, KEY, Cell, make_current
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keyed.ttl_cleanup import IncrementalCleanup
from headgate.state.kinds.forms import SINGLE
from headgate.state.ttl import StateTtlConfig
from headgate.types.instant import Time
from tests.contract.backends.keyed_states import KINDS, TTL_MS, descriptor_of, ttl_config
from tests.unit.state.backends import at, context_of

NOTHING: dict[str, Any] = {"value": None, "list": [], "map": {}, "reducing": None, "aggregating": None}
ONE: dict[str, Any] = {"value": (1,), "list": [(1,)], "map": {"k": (1,)}, "reducing": (1,), "aggregating": ((1,),)}


@dataclass
class Use:
    """One state of a kind for one key, on a clock that the test moves."""

    kind: str
    config: StateTtlConfig
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(1000.0))

    def __post_init__(self) -> None:
        self.backend = HashMapBackend(context_of(clock=self.clock))
        self.state = self.backend.state(descriptor_of(self.kind, "s", self.config))

    def write(self, value: Any = (1,), key: Any = "key") -> None:
        with at(self.backend, key):
            match self.kind:
                case "value":
                    self.state.update(value)
                case "map":
                    self.state.put("k", value)
                case _:
                    self.state.add(value)

    def read(self, key: Any = "key") -> Any:
        with at(self.backend, key):
            found = getattr(self.state, KINDS[self.kind].read)()
            return dict(found) if self.kind == "map" else list(found) if self.kind == "list" else found

    def do(self, use: Callable[[Any], Any]) -> Any:
        with at(self.backend, "key"):
            return use(self.state)


SHOWN = ttl_config().return_expired_if_not_cleaned_up().build()
ON_READ = ttl_config().update_ttl_on_read_and_write().build()
DEFAULT = ttl_config().build()


@pytest.mark.parametrize("kind", KINDS)
def test_state_lives_for_its_time_and_not_a_millisecond_more(kind: str) -> None:
    use = Use(kind, DEFAULT)
    use.write()
    use.clock.advance(TTL_MS - 1)
    assert use.read() == ONE[kind]
    use.clock.advance(1)
    assert use.read() == NOTHING[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_reading_what_has_expired_removes_it(kind: str) -> None:
    use = Use(kind, DEFAULT)
    use.write()
    use.clock.advance(TTL_MS)
    use.read()
    assert len(use.backend) == 0


@pytest.mark.parametrize("kind", ["value", "map", "reducing", "aggregating"])
def test_a_write_gives_the_whole_time_again(kind: str) -> None:
    use = Use(kind, DEFAULT)
    use.write()
    use.clock.advance(TTL_MS - 1)
    use.write()
    use.clock.advance(TTL_MS - 1)
    assert use.read() not in (None, [], {})


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_gives_the_whole_time_again_only_if_configured(kind: str) -> None:
    for config, found in ((DEFAULT, NOTHING[kind]), (ON_READ, ONE[kind])):
        use = Use(kind, config)
        use.write()
        use.clock.advance(TTL_MS - 1)
        assert use.read() == ONE[kind]
        use.clock.advance(TTL_MS - 1)
        assert use.read() == found


@pytest.mark.parametrize("kind", KINDS)
def test_expired_state_that_may_be_shown_is_shown_once(kind: str) -> None:
    use = Use(kind, SHOWN)
    use.write()
    use.clock.advance(10 * TTL_MS)
    assert use.read() == ONE[kind]
    assert use.read() == NOTHING[kind]
    assert len(use.backend) == 0


@pytest.mark.parametrize("kind", ["reducing", "aggregating"])
def test_adding_to_what_has_expired_starts_fresh_unless_it_may_be_shown(kind: str) -> None:
    fresh, joined = {"reducing": ((2,), (1, 2)), "aggregating": (((2,),), ((1,), (2,)))}[kind]
    for config, found in ((DEFAULT, fresh), (SHOWN, joined)):
        use = Use(kind, config)
        use.write((1,))
        use.clock.advance(TTL_MS)
        use.write((2,))
        use.clock.advance(TTL_MS - 1)
        assert use.read() == found


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_to_live_of_any_length_is_as_long_as_it_says(kind: str) -> None:
    use = Use(kind, StateTtlConfig.new_builder(Time.milliseconds(2**63 - 1)).build())
    use.write()
    use.clock.advance(1e15)
    assert use.read() == ONE[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_clock_that_steps_back_lets_state_live_longer_and_breaks_nothing(kind: str) -> None:
    use = Use(kind, DEFAULT)
    use.write()
    use.clock = VirtualClock(0.0)
    use.state.lifetime._clock = use.clock
    assert use.read() == ONE[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_disabled_time_to_live_is_none(kind: str) -> None:
    use = Use(kind, ttl_config().set_update_type(StateTtlConfig.UpdateType.Disabled).build())
    use.write()
    use.clock.advance(1e12)
    assert use.read() == ONE[kind]


# --- lists


def test_elements_expire_one_by_one_and_stay_stored_while_one_lives() -> None:
    use = Use("list", ttl_config().disable_cleanup_in_background().build())
    use.write(1)
    use.clock.advance(60)
    use.write(2)
    use.clock.advance(60)
    assert use.read() == [2]
    assert [element for _, element in use.backend.cells["key"][-1]] == [1, 2]
    use.clock.advance(60)
    assert use.read() == []
    assert len(use.backend) == 0


def test_reading_a_list_that_refreshes_rewrites_it_with_what_lives() -> None:
    use = Use("list", ON_READ)
    use.write(1)
    use.clock.advance(60)
    use.write(2)
    use.clock.advance(60)
    assert use.read() == [2]
    assert [element for _, element in use.backend.cells["key"][-1]] == [2]
    use.clock.advance(TTL_MS - 1)
    assert use.read() == [2]


def test_expired_elements_are_shown_as_long_as_another_lives() -> None:
    use = Use("list", ttl_config().return_expired_if_not_cleaned_up().disable_cleanup_in_background().build())
    use.write(1)
    use.clock.advance(60)
    use.write(2)
    use.clock.advance(60)
    assert (use.read(), use.read()) == ([1, 2], [1, 2])
    use.clock.advance(60)
    assert (use.read(), use.read()) == ([1, 2], [])


def test_each_way_to_write_a_list_counts_from_now() -> None:
    use = Use("list", DEFAULT)
    use.do(lambda state: state.add_all([1]))
    use.clock.advance(60)
    use.do(lambda state: state.update([2, 3]))
    use.clock.advance(60)
    assert use.read() == [2, 3]
    use.do(lambda state: state.update([]))
    assert use.read() == []


@pytest.mark.parametrize("write", ["add", "add_all", "update"])
def test_a_list_that_expires_takes_no_none_either(write: str) -> None:
    use = Use("list", DEFAULT)
    with pytest.raises(StateAccessError, match="list state 's' got None"):
        use.do(lambda state: getattr(state, write)(None))


# --- maps


def test_entries_expire_one_by_one_and_are_removed_when_they_are_read() -> None:
    use = Use("map", ttl_config().disable_cleanup_in_background().build())
    use.do(lambda state: state.put("old", 1))
    use.clock.advance(60)
    use.do(lambda state: state.put_all({"new": 2}))
    use.clock.advance(60)
    assert use.do(lambda state: (state.contains("old"), "new" in state)) == (False, True)
    assert list(use.backend.cells["key"][-1]) == ["new"]
    assert use.read() == {"new": 2}


def test_containing_is_reading() -> None:
    use = Use("map", ON_READ)
    use.write()
    use.clock.advance(TTL_MS - 1)
    assert use.do(lambda state: state.contains("k"))
    use.clock.advance(TTL_MS - 1)
    assert use.do(lambda state: state.get("k")) == (1,)
    shown = Use("map", SHOWN)
    shown.write()
    shown.clock.advance(TTL_MS)
    assert shown.do(lambda state: (state.contains("k"), state.contains("k"))) == (True, False)


def test_reading_one_entry_refreshes_no_other() -> None:
    use = Use("map", ON_READ)
    use.do(lambda state: state.put_all({"a": 1, "b": 2}))
    use.clock.advance(TTL_MS - 1)
    assert use.do(lambda state: state.get("a")) == 1
    use.clock.advance(1)
    assert use.read() == {"a": 1}


def test_a_map_of_expired_entries_is_empty_if_they_are_not_shown() -> None:
    for config, empty in ((DEFAULT, True), (SHOWN, False)):
        use = Use("map", config)
        use.write()
        use.clock.advance(TTL_MS)
        assert use.do(lambda state: state.is_empty()) is empty


def test_an_entry_of_none_expires_like_any_other() -> None:
    use = Use("map", DEFAULT)
    use.do(lambda state: state.put("k", None))
    assert use.do(lambda state: (state.contains("k"), state.get("k"))) == (True, None)
    use.clock.advance(TTL_MS)
    assert not use.do(lambda state: state.contains("k"))
    assert use.do(lambda state: state.put_all(None)) is None


# --- clean-up


@pytest.mark.parametrize("kind", KINDS)
def test_using_one_key_cleans_up_others_a_few_at_a_time(kind: str) -> None:
    use = Use(kind, DEFAULT)
    for key in range(40):
        use.write(key=key)
    use.clock.advance(TTL_MS)
    use.write(key="key")
    assert len(use.backend) == 36
    for _ in range(9):
        use.read()
    assert len(use.backend) == 1
    assert use.read() == ONE[kind]


def test_without_access_nothing_is_cleaned_up() -> None:
    use = Use("value", DEFAULT)
    other = use.backend.state(descriptor_of("value", "other"))
    use.write(key="old")
    use.clock.advance(TTL_MS)
    for _ in range(10):
        with at(use.backend, "key"):
            other.update(1)
    assert "old" in use.backend.cells


def test_clean_up_for_every_record_needs_no_access() -> None:
    use = Use("value", ttl_config().cleanup_incrementally(1, True).build())
    use.write(key="old")
    use.clock.advance(TTL_MS)
    with at(use.backend, "key"):
        pass
    assert "old" not in use.backend.cells


def test_clean_up_that_is_switched_off_happens_on_read_only() -> None:
    use = Use("value", ttl_config().disable_cleanup_in_background().build())
    use.write(key="old")
    use.clock.advance(TTL_MS)
    for _ in range(10):
        use.write()
    assert "old" in use.backend.cells


def test_clean_up_takes_elements_and_entries_one_by_one() -> None:
    for kind, remaining in (("list", [(1100, (1,))]), ("map", {"k": (1100, (1,))})):
        use = Use(kind, DEFAULT)
        use.do(lambda state: state.put("old", 0) if hasattr(state, "put") else state.add(0))
        use.clock.advance(TTL_MS)
        use.write()
        use.read(key="another")
        assert use.backend.cells["key"][-1] == remaining


class Cells:
    """An owner of cells with one value each, that counts the rounds."""

    def __init__(self, *stored: Any) -> None:
        self.cells: list[Cell] = [[0, 0, 0, key, value] for key, value in enumerate(stored)]
        self.emptied: list[Cell] = []
        self.current = make_current(None, self.emptied)
        self.rounds = 0

    def live_cells(self) -> Iterator[Cell]:
        self.rounds += 1
        return iter(self.cells)

    def touch(self, cell: Cell) -> None:
        assert cell in self.cells


def test_a_sweep_rests_until_what_was_oldest_can_have_expired() -> None:
    owner = Cells((700, "a"), (900, "b"))
    config = StateTtlConfig.new_builder(Time.milliseconds(500)).cleanup_incrementally(5, False).build()
    cleanup = IncrementalCleanup(SINGLE, owner, FIRST, config)
    for now_ms in range(1000, 1200):
        cleanup.advance(now_ms)
    assert (owner.rounds, owner.emptied) == (1, [])
    cleanup.advance(1200)
    assert [cell[KEY] for cell in owner.emptied] == [0]
    for now_ms in range(1201, 1400):
        cleanup.advance(now_ms)
    assert owner.rounds == 2
    cleanup.advance(1400)
    assert [cell[KEY] for cell in owner.emptied] == [0, 1]
