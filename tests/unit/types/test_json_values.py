"""Values of types from parsed JSON."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from headgate.errors import ProgramError
from headgate.types.json_rules import FILES
from headgate.types.json_values import JsonReader
from headgate.types.row import Row
from headgate.types.typeinfo import TypeInformation, Types

READ = JsonReader(FILES).of
ORDER = Types.ROW_NAMED(["id", "lines"], [Types.LONG(), Types.LIST(Types.ROW_NAMED(["sku"], [Types.STRING()]))])


@pytest.mark.parametrize(
    ("type_info", "given", "expected"),
    [
        (Types.STRING(), "a", "a"),
        (Types.BOOLEAN(), True, True),
        (Types.LONG(), 2**40, 2**40),
        (Types.DOUBLE(), 1, 1.0),
        (Types.FLOAT(), 0.1, 0.10000000149011612),
        (Types.BIG_INT(), 2**70, 2**70),
        (Types.BIG_DEC(), "1.10", Decimal("1.10")),
        (Types.SQL_DATE(), "2024-02-29", datetime.date(2024, 2, 29)),
        (Types.SQL_TIME(), "23:59:58", datetime.time(23, 59, 58)),
        (Types.SQL_TIMESTAMP(), "2024-02-29T01:02:03", datetime.datetime(2024, 2, 29, 1, 2, 3)),
        (Types.LIST(Types.INT()), [1, None], [1, None]),
        (Types.MAP(Types.STRING(), Types.SQL_DATE()), {"a": "2024-02-29"}, {"a": datetime.date(2024, 2, 29)}),
        (Types.PICKLED_BYTE_ARRAY(), {"any": [1]}, {"any": [1]}),
        (ORDER, {"id": 1, "lines": [{"sku": "x"}]}, Row("id", "lines")(1, [Row("sku")("x")])),
        (ORDER, {"id": 1, "more": 2}, Row("id", "lines")(1, None)),
    ],
    ids=str,
)
def test_values_get_their_type(type_info: TypeInformation, given: object, expected: object) -> None:
    reading = READ(type_info)
    for found in (reading.one(given), *reading.column([given, given])):
        assert found == expected
        assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("type_info", "given", "reason"),
    [
        (Types.LONG(), True, "True is not a whole number"),
        (Types.BYTE(), 300, "300 does not fit into 8 bits"),
        (Types.LONG(), 2**63, "does not fit into 64 bits"),
        (Types.LONG(), 1.5, r"1\.5 is not a whole number"),
        (Types.BOOLEAN(), "true", "'true' is not true or false"),
        (Types.STRING(), 7, "7 is not text"),
        (Types.DOUBLE(), "7", "'7' is not a number"),
        (Types.DOUBLE(), float("inf"), "the number is out of range"),
        (Types.FLOAT(), 1e300, "the number is out of range"),
        (Types.BIG_DEC(), "x", "'x' is not a decimal"),
        (Types.BIG_DEC(), "1_000", "'1_000' is not a decimal"),
        (Types.BIG_DEC(), "NaN", "'NaN' is not a decimal"),
        (Types.BIG_DEC(), 1.1, r"1\.1 is not a decimal, which is text or a whole number"),
        (Types.SQL_DECIMAL(4, 2), "1.005", r"1\.005 has more digits than a Decimal\(4, 2\)"),
        (Types.SQL_DECIMAL(4, 2), 100, r"100 has more digits than a Decimal\(4, 2\)"),
        (Types.SQL_DATE(), "29.2.2024", "29.2.2024"),
        (Types.SQL_TIME(), "12:00:00+02:00", r"'12:00:00\+02:00' has a zone"),
        (Types.SQL_TIMESTAMP(), "2024-02-29T12:00:00Z", "'2024-02-29T12:00:00Z' has a zone"),
        (Types.SQL_TIMESTAMP(), "2024-02-29T12:00:00+02:00", "has a zone"),
        (Types.SQL_TIMESTAMP(), "2024-02-29T12:00:00.1234567", "more digits than microseconds"),
        (Types.SQL_TIMESTAMP(), "20240229T120000.1234567", "more digits than microseconds"),
        (Types.INSTANT(), "2024-02-29T12:00:00", "is not a time with a zone"),
        (Types.SQL_INTERVAL(), "1 day", "'1 day' is not a length of time"),
        (Types.SQL_INTERVAL(), 7, "7 is not text"),
        (Types.SQL_NULL(), 7, "7 is not null"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1], r"\[1\] is not text in Base64"),
        (Types.TUPLE([Types.INT(), Types.INT()]), [1], r"\[1\] has 1 fields instead of 2"),
        (Types.LIST(Types.INT()), {}, "{} is not a JSON array"),
        (Types.MAP(Types.STRING(), Types.INT()), [], r"\[\] is not a JSON object"),
        (ORDER, [1], r"\[1\] is not a JSON object"),
        (ORDER, {"id": 1, "lines": [{"sku": 7}]}, "field 'sku': 7 is not text"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(type_info: TypeInformation, given: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        READ(type_info).one(given)
    with pytest.raises(ValueError, match=reason):
        READ(type_info).column([given])


def test_columns_hold_values_and_nulls_of_several_kinds() -> None:
    types = Types.ROW_NAMED(["a", "b"], [Types.DOUBLE(), Types.SQL_DATE()])
    found = READ(types).column([{"a": 1}, {"a": 2.5, "b": "2024-02-29"}, {}])
    row = Row("a", "b")
    assert found == [row(1.0, None), row(2.5, datetime.date(2024, 2, 29)), row(None, None)]
    assert type(found[0].a) is float
    assert READ(types).column([]) == []


@pytest.mark.parametrize(
    "type_info",
    [Types.MAP(Types.INT(), Types.INT()), Types.LIST(Types.MAP(Types.LONG(), Types.INT()))],
    ids=str,
)
def test_type_without_a_form_in_json_is_refused(type_info: TypeInformation) -> None:
    with pytest.raises(ProgramError, match="has no form in JSON"):
        READ(type_info)
