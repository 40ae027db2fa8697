"""The effect of a time to live on stored values."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.state.kinds.forms import LIST, MAP, SINGLE, StoredForm

DEAD = 100


@pytest.mark.parametrize(
    ("form", "stored"),
    [(SINGLE, (100, "x")), (LIST, [(100, "x"), (90, "y")]), (MAP, {"k": (100, "x"), "l": (90, "y")})],
)
def test_nothing_of_it_lives_from_the_very_millisecond_on(form: StoredForm, stored: Any) -> None:
    assert not form.is_expired(stored, DEAD - 1)
    assert form.is_expired(stored, DEAD)
    assert form.living(stored, DEAD) is None


@pytest.mark.parametrize(
    ("form", "stored"),
    [(SINGLE, (100, "x")), (LIST, [(100, "x"), (101, "y")]), (MAP, {"k": (100, None)})],
)
def test_what_lives_wholly_is_the_same_object(form: StoredForm, stored: Any) -> None:
    assert form.living(stored, DEAD - 1) is stored


def test_what_has_expired_is_left_out_and_the_rest_stays_where_it_is() -> None:
    listed, mapped = [(1, "a"), (99, "b"), (2, "c")], {"a": (1, 0), "b": (99, 1)}
    assert LIST.living(listed, 50) == [(99, "b")]
    assert MAP.living(mapped, 50) == {"b": (99, 1)}
    assert (len(listed), len(mapped)) == (3, 2)


@pytest.mark.parametrize(
    ("form", "plain", "stamped"),
    [
        (SINGLE, "x", (7, "x")),
        (SINGLE, 0, (7, 0)),
        (SINGLE, [1], (7, [1])),
        (LIST, [1, 2], [(7, 1), (7, 2)]),
        (MAP, {"k": None}, {"k": (7, None)}),
    ],
)
def test_a_time_to_live_comes_and_goes(form: StoredForm, plain: Any, stamped: Any) -> None:
    assert form.with_ttl(plain, 7) == stamped
    assert form.without_ttl(stamped) == plain
