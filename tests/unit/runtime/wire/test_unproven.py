"""Which unproven connection is evicted, against a model; and how the lines of a log that strangers cause are summed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headgate.runtime.wire.unproven import SummedLines, UnprovenPeers

ARRIVALS = st.lists(st.sampled_from("abcd"), max_size=60)


@given(st.integers(1, 8), ARRIVALS)
def test_the_oldest_of_the_busiest_address_is_evicted_and_none_before_all_places_are_taken(
    places: int, addresses: list[str]
) -> None:
    unproven, inside = UnprovenPeers[int](places), dict[int, str]()
    for peer, address in enumerate(addresses):
        out = unproven.add(peer, address)
        if len(inside) < places:
            assert out is None
        else:
            assert out is not None
            crowds = Counter(inside.values())
            assert crowds[inside[out]] == max(crowds.values())
            assert out == min(each for each in inside if inside[each] == inside[out])
            del inside[out]
        inside[peer] = address
        assert list(unproven) == list(inside)
        assert len(unproven) <= places


@given(st.integers(1, 8), st.integers(0, 20))
def test_a_peer_among_strangers_of_its_own_address_stays_for_as_many_arrivals_as_there_are_places(
    places: int, before: int
) -> None:
    unproven = UnprovenPeers[str](places)
    for number in range(before):
        unproven.add(f"before {number}", "here")
    unproven.add("slot", "here")
    gone = [unproven.add(f"after {number}", "here") for number in range(places - 1)]
    assert "slot" not in gone


@given(st.integers(3, 8), st.integers(0, 7))
def test_who_comes_alone_from_an_address_does_not_give_way_to_a_crowd_of_another(places: int, before: int) -> None:
    unproven = UnprovenPeers[str](places)
    for number in range(before):
        unproven.add(f"before {number}", "crowd")
    unproven.add("slot", "alone")
    gone = [unproven.add(f"after {number}", "crowd") for number in range(100)]
    assert "slot" in unproven
    assert None not in gone[places:]


def test_a_peer_that_has_left_gives_its_place_back() -> None:
    unproven = UnprovenPeers[str](1)
    unproven.add("a", "here")
    unproven.remove("a")
    unproven.remove("never there")
    assert unproven.add("b", "here") is None


@given(st.lists(st.booleans(), max_size=60))
def test_no_line_is_lost_and_no_two_are_written_in_one_interval(passes: list[bool]) -> None:
    lines, noted, told, written_in_interval = SummedLines(), 0, 0, 0
    for passed in [*passes, True]:
        if passed:
            written_in_interval = 0
            line = lines.passed() if lines.holding else None
        else:
            noted += 1
            line = lines.noted("refused")
        if line is not None:
            written_in_interval += 1
            told += 1 if line == "refused" else 1 + int(line.split("and ")[1].split(" more")[0])
        assert written_in_interval <= 1
    assert told == noted
