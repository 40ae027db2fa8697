"""Which key selectors do no more than take a column."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

import pytest

from headgate.batch.column_of import column_of, taken
from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.types.row import make_row

NAMES = ("name", "city", "zip code", "as_dict")


@pytest.mark.parametrize(
    ("take", "column"),
    [
        (lambda row: row.city, "city"),
        (lambda row: row["zip code"], "zip code"),
        (lambda row: row[3], "as_dict"),
        (lambda row: row[-3], "city"),
        (attrgetter("name"), "name"),
        (itemgetter(1), "city"),
        (lambda row: next(iter(row)), "name"),
    ],
)
def test_what_takes_a_column_is_seen(take: Callable[[Any], Any], column: str) -> None:
    assert column_of(take, NAMES) == column


@pytest.mark.parametrize(
    "take",
    [
        lambda row: row.city.lower(),
        lambda row: (row.name, row.city),
        lambda row: f"{row.name}",
        lambda row: str(row.name),
        lambda row: row.name or row.city,
        lambda row: row.name if row.city else row.city,
        lambda row: row.name if row.name is not None else row.city,
        lambda row: row.name if row.name == "a" else row.city,
        lambda row: row.name if row.city is not None else "nowhere",
        lambda row: row.name if not isinstance(row.city, str) else row.city,
        lambda row: row.name if all(value is not None for value in row) else "",
        lambda row: row.name if row[1:2] != [None] else "",
        lambda row: {"a": row.name}.get("b"),
        lambda row: hash(row.name) % 10,
        lambda row: len(row.name),
        lambda row: row.name[:2],
        lambda row: row.name + 1,
        lambda row: row,
        lambda row: None,
        lambda row: 5,
        lambda row: row.nothing,
        lambda row: 1 // 0,
    ],
)
def test_what_does_anything_else_is_left_to_tasks(take: Callable[[Any], Any]) -> None:
    assert column_of(take, NAMES) is None


def test_what_is_taken_is_compared_with_the_first_and_the_last_row() -> None:
    rows = Batch([make_row((1, "a"), ("number", "text")), make_row((1, "b"), ("number", "text"))])
    assert taken(lambda row: row.number, "key selector", rows, "number") == 1
    with pytest.raises(
        ProgramError, match=r"the key selector returned column 'text' .* for Row\(number=1.* it returns 1:"
    ):
        taken(lambda row: row.number, "key selector", rows, "text")
