"""What the format tests ask headgate and PyFlink alike: types by name, and texts to read as them."""

from __future__ import annotations

from typing import Any, Final

NUMBERS: Final = ["STRING", "BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BIG_INT", "BIG_DEC"]
TIMES: Final = ["SQL_DATE", "SQL_TIME", "SQL_TIMESTAMP", "INSTANT"]
ARRAYS: Final = ["BYTES", "BASIC", "OBJECTS", "ROWS", "MAP", "ROW"]

JSON: Final = {
    **dict.fromkeys(
        NUMBERS,
        '1|1.5|-1.9|1.50|0.00|1E2|1e400|130|3000000000|12345678901234567890|16777217|123456789.5|0.1|"7"|" 7 "|"+7"|'
        '"1_0"|"x"|""|"1.250"|"NaN"|"-Infinity"|"1d"|true|"TRUE"|"yes"|null|[1]|{"b":[1.0,null,"ë"]}',
    ),
    **dict.fromkeys(
        TIMES,
        '"2020-02-29"|"2020-02-30"|"20200229"|"2020-W09-6"|"12:00:01Z"|"12:00:01"|"12:00:01.5Z"|"12:00:01+01:00"|'
        '"2020-02-29T12:00:01Z"|"2020-02-29T12:00:01.123456Z"|"2020-02-29T12:00:01.500Z"|"2020-02-29T12:00:01"|'
        '"2020-02-29 12:00:01Z"|"2020-02-29T12:00:01+01:00"|"2020-02-29T12:00:01.25+01:00"|"2020-02-29T12:00Z"|null|1',
    ),
    **dict.fromkeys(["BASIC", "OBJECTS"], '[1,2]|[1,null,"3"]|["x"]|[]|{"x":1}|"c"|5|null'),
    "INSTANT": '"2020-02-29T12:00:01Z"|"2020-02-29T12:00:01.123456789Z"|"2020-02-29T12:00:01.25+01:00"|"x"|1|null',
    "BYTES": '"AQID"|"c"|""|null',
    "ROWS": '[{"f0":1},null,{}]|[1]|{"f0":1}|null',
    "MAP": '{"x":1,"2":null}|{"x":"3"}|{"x":"y"}|{}|null',
    "ROW": '{"f0":1,"f1":"x"}|{"f1":2}|{"f0":"x"}|{}|[1,2]|"x"|null',
}
"""Values of JSON for each type, with bars in between."""

CSV: Final = {
    **dict.fromkeys(
        NUMBERS, "1|1.5|-7| 7 |+7|1_0|130|3000000000|x||1e3|NaN|-Infinity|1d|1.250|true|TRUE| true|yes|null"
    ),
    "SQL_DATE": "2020-02-29|2020-2-9|x||2020-02-29 ",
    "SQL_TIME": "12:00:01|12:00|12:00:01.5||x",
    "SQL_TIMESTAMP": "2020-02-29 12:00:01|2020-02-29 12:00:01.5|2020-02-29T12:00:01|2020-02-29 12:00|",
    "BYTES": "AQL/|x|",
    "BASIC": "1;2|1; 2||1;x|1;;2",
    "OBJECTS": "1;2||x",
    "ROW": "1;x|1|1;x;y||y;x",
}
"""Fields of CSV for each type, with bars in between."""

LINES: Final = [
    *("1,a", "1, a", ' 1 ,"a,b"', '1,"a""b"', "1", "1,a,b", "1,", "", ",", "x,a", "1,a\n", "1,a\r\n", "1,a\n2,b"),
    *('"1",a', "#c,1", '1,"a', '1,a"b', '1,"a"b', "1,null", "\n1,a", '1,"a\nb"', "1,''", "1;a", "a\\,b,c"),
]
"""Messages in CSV of a number and a text."""

OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "lenient": {"set_ignore_parse_errors": True},
    "null": {"set_null_literal": "null"},
    "empty is null": {"set_null_literal": ""},
    "escape": {"set_escape_character": "\\"},
    "semicolon": {"set_field_delimiter": ";", "set_array_element_delimiter": ","},
    "quote": {"set_quote_character": "'"},
    "comments": {"set_allow_comments": True},
}

TEXTS: Final = [
    *("a,b", 'a"b', "a b", "a\nb", "a;b", "", "#x", "a\\b", "it's", "Zoë", "-", "+1", "abc.def", "long" * 6),
    *("long" * 6 + "r", "~", "|", "(x)", "null", "/"),
]
"""Texts to write as CSV."""

WRITING: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "bar": {"set_field_delimiter": "|"},
    "no quotes": {"disable_quote_character": None},
    "quote": {"set_quote_character": "'"},
    "escape": {"set_escape_character": "\\"},
    "ends": {"set_line_delimiter": "\r\n", "set_null_literal": "n/a"},
    "no end": {"set_line_delimiter": ""},
    "array": {"set_array_element_delimiter": "/"},
}

DOUBLES: Final = [0.0, -0.0, 1.0, 0.1, 1e20, 1e-5, 0.001, 1234567.0, 12345678.0, -123456789.25, 1e7, 9999999.5]
DECIMALS: Final = ["1.2300", "1E+3", "1E-10", "0.00", "-7", "123456789012345678901234567890.5"]
TIMESTAMPS: Final = [
    "2020-02-29 12:00:01.123456",
    "2020-02-29 12:00:01.5",
    "2020-02-29 12:00:00",
    "1969-12-31 23:59:59",
]


def types(of: Any) -> dict[str, Any]:
    """Return the types by name; `of` is `Types` of headgate or of PyFlink."""
    simple = {name: getattr(of, name)() for name in NUMBERS + TIMES}
    return {
        **simple,
        "BYTES": of.PRIMITIVE_ARRAY(of.BYTE()),
        "BASIC": of.BASIC_ARRAY(of.INT()),
        "OBJECTS": of.OBJECT_ARRAY(of.INT()),
        "ROWS": of.OBJECT_ARRAY(of.ROW([of.INT()])),
        "MAP": of.MAP(of.STRING(), of.INT()),
        "ROW": of.ROW([of.INT(), of.STRING()]),
    }


def configured(builder: Any, settings: dict[str, Any]) -> Any:
    """Call the builder's methods, without an argument for None."""
    for method, argument in settings.items():
        getattr(builder, method)(*([] if argument is None else [argument]))
    return builder.build()
