"""Values of types from parsed JSON."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from headgate.errors import ProgramError
from headgate.types.json_values import json_batch_converter, json_converter
from headgate.types.row import Row
from headgate.types.typeinfo import TypeInformation, Types

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
    for found in (json_converter(type_info)(given), *json_batch_converter(type_info)([given, given])):
        assert found == expected
        assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("type_info", "given", "reason"),
    [
        (Types.LONG(), True, "True is not of type Long"),
        (Types.BYTE(), 300, "300 is not of type Byte"),
        (Types.LONG(), 2**63, "is not of type Long"),
        (Types.LONG(), 1.5, r"1\.5 is not of type Long"),
        (Types.STRING(), 7, "7 is not of type String"),
        (Types.BIG_DEC(), "x", "'x' is not of type BigDecimal"),
        (Types.SQL_DATE(), "29.2.2024", "'29.2.2024' is not of type Date"),
        (Types.LIST(Types.INT()), {}, "{} is not a JSON array"),
        (Types.MAP(Types.STRING(), Types.INT()), [], r"\[\] is not a JSON object"),
        (ORDER, [1], r"\[1\] is not a JSON object"),
        (ORDER, {"id": 1, "lines": [{"sku": 7}]}, "field 'sku': 7 is not of type String"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(type_info: TypeInformation, given: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        json_converter(type_info)(given)
    with pytest.raises(ValueError, match=reason):
        json_batch_converter(type_info)([given])


def test_columns_hold_values_and_nulls_of_several_kinds() -> None:
    types = Types.ROW_NAMED(["a", "b"], [Types.DOUBLE(), Types.SQL_DATE()])
    found = json_batch_converter(types)([{"a": 1}, {"a": 2.5, "b": "2024-02-29"}, {}])
    row = Row("a", "b")
    assert found == [row(1.0, None), row(2.5, datetime.date(2024, 2, 29)), row(None, None)]
    assert type(found[0].a) is float
    assert json_batch_converter(types)([]) == []


@pytest.mark.parametrize("type_info", [Types.TUPLE([Types.INT()]), Types.MAP(Types.INT(), Types.INT())], ids=str)
def test_type_without_a_form_in_json_is_refused(type_info: TypeInformation) -> None:
    with pytest.raises(ProgramError, match="has no form in JSON"):
        json_converter(type_info)
