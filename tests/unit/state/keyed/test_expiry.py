"""What a time to live does to stored values."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.state.keyed.expiry import is_expired, with_ttl, without_expired, without_ttl

TTL = 50


@pytest.mark.parametrize(
    ("kind", "stored"),
    [("value", (100, "x")), ("list", [(100, "x"), (90, "y")]), ("map", {"k": (100, "x"), "l": (90, "y")})],
)
def test_nothing_of_it_lives_from_the_very_millisecond_on(kind: str, stored: Any) -> None:
    assert not is_expired(kind, stored, 149, TTL)
    assert is_expired(kind, stored, 150, TTL)
    assert without_expired(kind, stored, 150, TTL) is None


@pytest.mark.parametrize(
    ("kind", "stored"),
    [("reducing", (100, "x")), ("list", [(100, "x"), (101, "y")]), ("map", {"k": (100, None)})],
)
def test_what_lives_wholly_is_the_same_object(kind: str, stored: Any) -> None:
    assert without_expired(kind, stored, 149, TTL) is stored


def test_what_has_expired_is_left_out_and_the_rest_stays_where_it_is() -> None:
    listed, mapped = [(1, "a"), (99, "b"), (2, "c")], {"a": (1, 0), "b": (99, 1)}
    assert without_expired("list", listed, 100, TTL) == [(99, "b")]
    assert without_expired("map", mapped, 100, TTL) == {"b": (99, 1)}
    assert (len(listed), len(mapped)) == (3, 2)


@pytest.mark.parametrize(
    ("kind", "plain", "stamped"),
    [
        ("value", "x", (7, "x")),
        ("reducing", 0, (7, 0)),
        ("aggregating", [1], (7, [1])),
        ("list", [1, 2], [(7, 1), (7, 2)]),
        ("map", {"k": None}, {"k": (7, None)}),
    ],
)
def test_a_time_to_live_comes_and_goes(kind: str, plain: Any, stamped: Any) -> None:
    assert with_ttl(kind, plain, 7) == stamped
    assert without_ttl(kind, stamped) == plain
