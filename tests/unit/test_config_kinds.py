"""Kinds of configuration values: what they read and what they refuse."""

import re

import pytest

from headgate.config_kinds import (
    BOOLEAN,
    DURATION_MS,
    INTEGER,
    LIMIT_MS,
    NUMBER,
    PORT_RANGE,
    SIZE_BYTES,
    TEXT,
    ValueKind,
    one_of,
)

WORDS = one_of("ONE", "TWO", synonyms={"uno": "ONE"})


@pytest.mark.parametrize(
    ("kind", "value", "parsed"),
    [
        (INTEGER, "12", 12), (INTEGER, 12, 12), (NUMBER, "1.5", 1.5), (NUMBER, 2, 2.0),
        (BOOLEAN, "True", True), (BOOLEAN, False, False), (TEXT, "x", "x"),
        (DURATION_MS, "1s", 1000), (DURATION_MS, "500 ms", 500), (DURATION_MS, "2 min", 120_000),
        (DURATION_MS, 250, 250), (DURATION_MS, "250", 250), (DURATION_MS, "1 d", 86_400_000), (DURATION_MS, 0, 0),
        (LIMIT_MS, "5 min", 300_000), (LIMIT_MS, "-1", None), (LIMIT_MS, -1, None), (LIMIT_MS, " -10 s", None),
        (SIZE_BYTES, "20kb", 20480), (SIZE_BYTES, "1 MB", 2**20), (SIZE_BYTES, 77, 77),
        (PORT_RANGE, "0", (0, 0)), (PORT_RANGE, "50000-50100", (50000, 50100)), (PORT_RANGE, 8081, (8081, 8081)),
        (WORDS, "one", "ONE"), (WORDS, "UNO", "ONE"),
    ],
)  # fmt: skip
def test_values_are_read(kind: ValueKind[object], value: object, parsed: object) -> None:
    read = kind.parse(value)
    assert read == parsed
    assert type(read) is type(parsed)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (INTEGER, "1.5"), (INTEGER, True), (INTEGER, 1.5), (NUMBER, True), (NUMBER, "x"), (BOOLEAN, "yes"), (TEXT, 3),
        (DURATION_MS, "1 fortnight"), (DURATION_MS, "-1"), (DURATION_MS, True), (DURATION_MS, "s"),
        (LIMIT_MS, "-"), (LIMIT_MS, "--1"), (LIMIT_MS, "none"),
        (SIZE_BYTES, "1 elephant"), (PORT_RANGE, "9-1"), (PORT_RANGE, "70000"), (PORT_RANGE, "any"), (WORDS, "three"),
    ],
)  # fmt: skip
def test_values_of_another_form_are_refused(kind: ValueKind[object], value: object) -> None:
    with pytest.raises(ValueError, match=re.escape(str(value))):
        kind.parse(value)
