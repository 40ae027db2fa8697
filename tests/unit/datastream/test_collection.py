from __future__ import annotations

import pytest

from headgate.datastream.collection import typed_records
from headgate.errors import ProgramError
from headgate.types.row import Row
from headgate.types.typeinfo import TypeInformation, Types

NAMED = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
PAIR = Types.TUPLE([Types.INT(), Types.DOUBLE()])


@pytest.mark.parametrize(
    ("record_type", "given", "expected"),
    [
        (NAMED, (1, "a"), Row(id=1, name="a")),
        (NAMED, [1, "a"], Row(id=1, name="a")),
        (NAMED, Row(1, "a"), Row(id=1, name="a")),
        (NAMED, Row(name="a", id=1), Row(id=1, name="a")),
        (NAMED, {"name": "a", "id": 1}, Row(id=1, name="a")),
        (NAMED, (None, "a"), Row(id=None, name="a")),
        (Types.ROW([Types.INT()]), (1,), Row(f0=1)),
        (PAIR, [1, 2], (1, 2.0)),
        (Types.STRING(), "a", "a"),
        (Types.BOOLEAN(), True, True),
        (Types.PICKLED_BYTE_ARRAY(), object, object),
    ],
)
def test_records_take_the_form_of_their_type(record_type: TypeInformation, given: object, expected: object) -> None:
    assert typed_records([given], record_type) == [expected]


@pytest.mark.parametrize(
    ("record_type", "wrong", "reason"),
    [
        (NAMED, (1,), "it has 1 fields, not 2"),
        (NAMED, ("x", "a"), "'x' is of type str, not a number"),
        (NAMED, 5, "5 is of type int, not a Row"),
        (Types.INT(), 2**31, "the number is out of range"),
        (Types.STRING(), b"a", "b'a' is of type bytes, not a str"),
    ],
)
def test_a_record_that_does_not_fit_is_named(record_type: TypeInformation, wrong: object, reason: str) -> None:
    with pytest.raises(ProgramError) as caught:
        typed_records([None, wrong], record_type)
    assert str(caught.value).startswith(f"record 1 of from_collection() is {wrong!r}, which does not fit")
    assert str(caught.value).endswith(reason)
