"""Sizes of states: how a file's bytes are shared out among the states whose values it holds side by side."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headgate.snapshots.sizes import amounts, shared_out
from headgate.snapshots.stand_ins import absent
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import SavedState, SnapshotWriter, decode
from headgate.types.row import Row
from headgate.types.typeinfo import Types

KEYS = [f"customer {number:06}" for number in range(3000)]


def saved(**states: dict[str, Any]) -> tuple[SavedState, int]:
    """A file of these states, by key, and its size."""
    metas = [StateMeta(name, "value", Types.PICKLED_BYTE_ARRAY()) for name in states]
    writer = SnapshotWriter(metas, delta=False)
    for first in range(0, len(KEYS), 1000):
        keys = [key for key in KEYS[first : first + 1000] if any(key in values for values in states.values())]
        writer.add_columns(0, keys, [[values.get(key) for key in keys] for values in states.values()])
    data = b"".join(writer.finish())
    return decode(data, "a test", {}), len(data)


def sizes(**states: dict[str, Any]) -> dict[str, int | None]:
    file, size_bytes = saved(**states)
    return shared_out(size_bytes, dict(zip(states, amounts(file, range(1)), strict=True)))


def alone(name: str, values: dict[str, Any]) -> int:
    return saved(**{name: values})[1]


def test_states_of_other_keys_have_what_their_own_files_would_have() -> None:
    many = dict.fromkeys(KEYS[:-200], 7)
    few = {key: [random.Random(key).random() for _ in range(20)] for key in KEYS[-200:]}
    found = sizes(many=many, few=few)
    assert found["many"] == pytest.approx(alone("many", many), rel=0.05)
    assert found["few"] == pytest.approx(alone("few", few), rel=0.05)


def test_a_large_and_a_small_state_of_the_same_keys_share_the_bytes_of_the_keys() -> None:
    large = {key: random.Random(key).randbytes(500) for key in KEYS}
    small = dict.fromkeys(KEYS, 7)
    found = sizes(large=large, small=small)
    keys = alone("nothing", dict.fromkeys(KEYS, True))
    assert found["large"] == pytest.approx(alone("large", large) - keys / 2, rel=0.03)
    assert found["small"] == pytest.approx(alone("small", small) - keys / 2, rel=0.1)


def test_objects_of_one_class_name_it_once() -> None:
    rows = {key: Row(identity=number, quantity=number) for number, key in enumerate(KEYS)}
    numbers = {key: (number, number) for number, key in enumerate(KEYS)}
    found = sizes(rows=rows, numbers=numbers)
    together = alone("rows", rows) + alone("numbers", numbers)
    assert (found["rows"] or 0) / sum(filter(None, found.values())) == pytest.approx(
        alone("rows", rows) / together, rel=0.03
    )


def test_what_a_stand_in_stands_for_has_no_known_size() -> None:
    gone = absent.shop.Order
    assert sizes(orders=dict.fromkeys(KEYS, gone()), count=dict.fromkeys(KEYS, 1)) == {"orders": None, "count": None}


def test_states_without_entries_have_no_known_size() -> None:
    assert sizes(a={}, b={}) == {"a": None, "b": None}
