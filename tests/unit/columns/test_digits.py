"""Binary and hexadecimal digits, and random values."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns.logical_types import BIGINT, BINARY_STRING, DOUBLE, INT, STRING, TINYINT, text
from headgate.errors import InvalidExpressionError
from headgate.table.expressions import col, rand, rand_integer, uuid
from tests.unit.columns.evaluate import check, evaluate, type_of


def test_bin() -> None:
    rows = [((4,), "100"), ((12,), "1100"), ((0,), "0"), ((-1,), "1" * 64), ((None,), None)]
    check(lambda a: a.bin, [INT], rows, STRING)
    check(lambda a: a.bin, [TINYINT.nulls(False)], [((127,), "1111111")], STRING.nulls(False))


def test_hex() -> None:
    check(lambda a: a.hex, [BIGINT], [((20,), "14"), ((100,), "64"), ((0,), "0"), ((-1,), "F" * 16), ((None,), None)])
    check(lambda a: a.hex, [STRING], [(("hello,world",), "68656C6C6F2C776F726C64"), (("",), ""), (("é",), "C3A9")])
    check(lambda a: a.hex, [STRING], [((None,), None)], STRING)
    with pytest.raises(InvalidExpressionError, match="an integer or a text, not DOUBLE"):
        type_of(col("d").hex, {"d": (DOUBLE, [])})


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_digits_of_integers(values: list[int | None]) -> None:
    table = {"n": (BIGINT, values)}
    assert evaluate(col("n").hex, table).to_pylist() == [None if n is None else f"{n % 2**64:X}" for n in values]
    assert evaluate(col("n").bin, table).to_pylist() == [None if n is None else f"{n % 2**64:b}" for n in values]


@given(st.lists(st.none() | st.text()))
def test_unhex_reads_what_hex_writes(values: list[str | None]) -> None:
    found = evaluate(col("s").hex.unhex, {"s": (STRING, values)}).to_pylist()
    assert found == [None if value is None else value.encode() for value in values]


def test_unhex() -> None:
    rows = [(("61c3A9",), b"a\xc3\xa9"), (("",), b""), (("zz",), None), (("abc",), b"\0\xbc"), (("6 1",), None)]
    check(lambda a: a.unhex, [STRING.nulls(False)], rows, BINARY_STRING)


def test_random_numbers_differ_between_rows_and_calls() -> None:
    table = {"n": (INT, list(range(100)))}
    one, other = evaluate(rand(), table).to_pylist(), evaluate(rand(), table).to_pylist()
    assert len({*one, *other}) == 200
    assert all(0 <= value < 1 for value in one)
    assert evaluate(rand() - rand(), table).to_pylist() != [0.0] * 100
    assert type_of(rand(), table) == DOUBLE.nulls(False)


def test_a_seed_makes_the_same_numbers_again() -> None:
    table = {"n": (INT, list(range(10)))}
    assert evaluate(rand(7), table).equals(evaluate(rand(7), table))
    assert evaluate(rand_integer(100, 7), table).equals(evaluate(rand_integer(100, 7), table))
    assert not evaluate(rand(7), table).equals(evaluate(rand(8), table))


def test_random_integers_are_below_their_bound() -> None:
    table = {"n": (INT, [1, 2, 10**9, None])}
    found = evaluate(rand_integer(col("n")), table).to_pylist()
    assert found[0] == 0
    assert found[1] in (0, 1)
    assert found[3] is None
    assert type_of(rand_integer(5), table) == INT.nulls(False)
    with pytest.raises(ValueError, match="bound of at least 1, not 0"):
        evaluate(rand_integer(col("n") - 1), table)


def test_uuids_are_random() -> None:
    found = evaluate(uuid(), {"n": (INT, list(range(50)))}).to_pylist()
    assert len(set(found)) == 50
    form = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    assert all(form.fullmatch(value) for value in found)
    assert type_of(uuid(), {}) == text(36, fixed=True).nulls(False)
    assert evaluate(uuid(), {"n": (INT, [])}).to_pylist() == []
