# ruff: noqa
# mypy: ignore-errors
"""Values of declared types: printed, seen by Python, from a source; and what cannot be of a type.

Run after `base.py`, in the same namespace.
"""

VALUES = {
    "string": (Types.STRING(), ["a", "", "ä€", "it's", "two words"]),
    "boolean": (Types.BOOLEAN(), [True, False]),
    "boolean of numbers": (Types.BOOLEAN(), [0, 1, 2]),
    "byte": (Types.BYTE(), [0, 127, -128]),
    "short": (Types.SHORT(), [0, 32767, -32768]),
    "int": (Types.INT(), [0, 2**31 - 1, -(2**31)]),
    "int of a float": (Types.INT(), [1.0, 2.9, -2.9]),
    "int of a bool": (Types.INT(), [True, False]),
    "int of a Decimal": (Types.INT(), [Decimal("2.5")]),
    "long": (Types.LONG(), [0, 2**63 - 1, -(2**63)]),
    "long of a float": (Types.LONG(), [1e10]),
    "float": (Types.FLOAT(), [0.0, 1.5, 0.1, 3.4e38, 1e10, 1e-10, 16777216.0]),
    "float of an int": (Types.FLOAT(), [3]),
    "double": (
        Types.DOUBLE(),
        [0.0, -0.0, 1.5, 0.1, 1e7, 9999999.0, 1e-3, 1e-4, 1.7976931348623157e308, 123456789.125],
    ),
    "double of an int": (Types.DOUBLE(), [3, -7]),
    "double, no number": (Types.DOUBLE(), [float("nan"), float("inf"), float("-inf")]),
    "char": (Types.CHAR(), ["a"]),
    "big int": (Types.BIG_INT(), [0, 12345678901234567]),
    "big decimal": (
        Types.BIG_DEC(),
        [Decimal("1.50"), Decimal("-0.001"), Decimal("1E+3"), Decimal("12345678901234567890.5")],
    ),
    "big decimal of a float": (Types.BIG_DEC(), [1.5]),
    "date": (Types.SQL_DATE(), [dt.date(2020, 1, 2), dt.date(1969, 12, 31)]),
    "date of a datetime": (Types.SQL_DATE(), [NOON]),
    "time": (Types.SQL_TIME(), [dt.time(1, 2, 3), dt.time(23, 59, 59)]),
    "timestamp": (
        Types.SQL_TIMESTAMP(),
        [dt.datetime(2020, 1, 2, 3, 4, 5), NOON, dt.datetime(2020, 1, 2, 3, 4, 5, 250000)],
    ),
    "instant": (Types.INSTANT(), [Instant(0, 0), Instant(1, 5_000_000), Instant(1_577_934_245, 678)]),
    "list of ints": (Types.LIST(Types.INT()), [[1, 2], []]),
    "list of strings": (Types.LIST(Types.STRING()), [["a", "b"], [""]]),
    "basic array of strings in a tuple": (Types.TUPLE([Types.BASIC_ARRAY(Types.STRING())]), [(["a", "b"],)]),
    "basic array of ints in a tuple": (Types.TUPLE([Types.BASIC_ARRAY(Types.INT())]), [([1, None],)]),
    "primitive array in a tuple": (Types.TUPLE([Types.PRIMITIVE_ARRAY(Types.INT())]), [([1, 2],)]),
    "primitive array of doubles in a tuple": (Types.TUPLE([Types.PRIMITIVE_ARRAY(Types.DOUBLE())]), [([1.5, 2.0],)]),
    "object array in a tuple": (Types.TUPLE([Types.OBJECT_ARRAY(Types.STRING())]), [(["a"],)]),
    "primitive array of bytes in a tuple": (Types.TUPLE([Types.PRIMITIVE_ARRAY(Types.BYTE())]), [(b"ab",)]),
    "primitive array of bools in a tuple": (Types.TUPLE([Types.PRIMITIVE_ARRAY(Types.BOOLEAN())]), [([True],)]),
    "object array of tuples in a tuple": (
        Types.TUPLE([Types.OBJECT_ARRAY(Types.TUPLE([Types.INT(), Types.STRING()]))]),
        [([(1, "a")],)],
    ),
    "map": (Types.MAP(Types.STRING(), Types.INT()), [{"a": 1}, {}]),
    "map with null": (Types.MAP(Types.STRING(), Types.INT()), [{"a": None}]),
    "map of doubles": (Types.MAP(Types.INT(), Types.DOUBLE()), [{1: 2}]),
    "map of lists": (Types.MAP(Types.STRING(), Types.LIST(Types.BOOLEAN())), [{"a": [True]}]),
    "tuple": (Types.TUPLE([Types.STRING(), Types.INT()]), [("a", 1), ("b", 2)]),
    "tuple of numbers": (Types.TUPLE([Types.INT(), Types.DOUBLE(), Types.BOOLEAN()]), [(1.7, 2, 1)]),
    "tuple of a list": (Types.TUPLE([Types.STRING(), Types.INT()]), [["a", 1]]),
    "tuple in a tuple": (
        Types.TUPLE([Types.TUPLE([Types.INT(), Types.STRING()]), Types.BOOLEAN()]),
        [((1, "a"), True)],
    ),
    "tuple of one": (Types.TUPLE([Types.STRING()]), [("a",)]),
    "row by position": (Types.ROW([Types.STRING(), Types.INT()]), [Row("a", 1)]),
    "row with null": (Types.ROW([Types.STRING(), Types.INT()]), [Row(None, 1), Row("a", None)]),
    "row by name": (AB, [Row(a=1, b="x")]),
    "row by name in another order": (AB, [Row(b="x", a=1)]),
    "row by name with more": (AB, [Row(c=True, b="x", a=1)]),
    "row by position with names": (AB, [Row(1, "x")]),
    "row of floats": (Types.ROW([Types.DOUBLE(), Types.BOOLEAN()]), [Row(1e10, True)]),
    "row in a row": (Types.ROW([Types.INT(), AB]), [Row(1, Row(b="x", a=2))]),
    "row in a tuple": (Types.TUPLE([Types.INT(), AB]), [(1, Row(2, "x"))]),
    "row of kinds": (AB, [Row.of_kind(kind, 1, "x") for kind in RowKind]),
    "row of dates": (Types.ROW([Types.SQL_DATE(), Types.SQL_TIMESTAMP()]), [Row(NOON.date(), NOON)]),
    "row of nulls": (
        Types.ROW(
            [
                Types.BOOLEAN(),
                Types.LONG(),
                Types.DOUBLE(),
                Types.BIG_DEC(),
                Types.SQL_DATE(),
                Types.SQL_TIME(),
                Types.SQL_TIMESTAMP(),
                Types.LIST(Types.INT()),
                Types.TUPLE([Types.INT()]),
                AB,
                Types.PICKLED_BYTE_ARRAY(),
            ]
        ),
        [Row(*[None] * 11)],
    ),
    "row of extremes": (
        Types.ROW([Types.LONG(), Types.DOUBLE(), Types.FLOAT()]),
        [Row(-(2**63), 1.7976931348623157e308, 1.5e-45), Row(0, 5e-324, 0.3)],
    ),
    "row of a time and an instant": (
        Types.ROW([Types.SQL_TIME(), Types.INSTANT()]),
        [Row(dt.time(1, 2, 3), Instant(1, 5))],
    ),
    "row of an array": (
        Types.ROW([Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.BASIC_ARRAY(Types.STRING())]),
        [Row(b"a", ["x"])],
    ),
    "row of kinds in a row": (Types.ROW([AB]), [Row(Row.of_kind(RowKind.DELETE, 1, "x"))]),
    "tuple of dates": (Types.TUPLE([Types.SQL_DATE(), Types.SQL_TIMESTAMP()]), [(NOON.date(), NOON)]),
    "tuple of a map and a list": (
        Types.TUPLE([Types.MAP(Types.STRING(), Types.DOUBLE()), Types.LIST(Types.BOOLEAN())]),
        [({"a": 1.0}, [True, False])],
    ),
    "tuple of a pickled one": (Types.TUPLE([Types.STRING(), Types.PICKLED_BYTE_ARRAY()]), [("a", [1])]),
    "timestamp of microseconds": (Types.SQL_TIMESTAMP(), [dt.datetime(2020, 1, 2, 3, 4, 5, 123456)]),
    "time of microseconds": (Types.SQL_TIME(), [dt.time(1, 2, 3, 456000)]),
    "list of doubles": (Types.LIST(Types.DOUBLE()), [[1, 2.5, 1e10]]),
    "list of dates": (Types.LIST(Types.SQL_DATE()), [[NOON.date()]]),
    "list of maps": (Types.LIST(Types.MAP(Types.STRING(), Types.INT())), [[{"a": 1}]]),
    "map of tuples": (Types.MAP(Types.INT(), Types.TUPLE([Types.INT(), Types.STRING()])), [{1: (2, "a")}]),
    "row of a list": (Types.ROW([Types.LIST(Types.INT())]), [Row([1, 2])]),
    "row of a map": (Types.ROW([Types.MAP(Types.STRING(), Types.INT())]), [Row({"a": 1})]),
    "list of rows": (Types.LIST(AB), [[Row(1, "x"), Row(b="y", a=2)]]),
    "list of tuples": (Types.LIST(Types.TUPLE([Types.INT(), Types.STRING()])), [[(1, "a")]]),
    "list of lists": (Types.LIST(Types.LIST(Types.INT())), [[[1], [2, 3]]]),
    "map of rows": (Types.MAP(Types.STRING(), AB), [{"k": Row(1, "x")}]),
    "pickled": (Types.PICKLED_BYTE_ARRAY(), [1, "a", (1, "a"), [1], {"a": 1}, 1.5, True, b"a", Row(1, "a"), 2**70]),
}


def shown(value):
    """Python's own text of a value, with the class of what has several."""
    return f"{type(value).__name__}:{value!r}"


def add_values(name, type_info, values):
    """Four cases of a type: print, Python's view, a declared source, and its print."""

    @case(name=f"print: {name}")
    def _(env):
        return env.from_collection(values).map(lambda value: value, output_type=type_info).rebalance()

    @case(name=f"python: {name}")
    def _(env):
        typed = env.from_collection(values).map(lambda value: value, output_type=type_info)
        return typed.rebalance().map(shown, output_type=Types.STRING())


SOURCES = [
    "string", "boolean", "int", "long", "float", "double", "big decimal", "date", "time", "timestamp", "list of ints", "map", "tuple",
    "tuple in a tuple", "row by position", "row with null", "row by position with names", "row in a row", "list of tuples",
]  # fmt: skip


def add_source(name, type_info, values):
    @case(name=f"source: {name}")
    def _(env):
        return env.from_collection(values, type_info=type_info).map(shown, output_type=Types.STRING())


for name, (type_info, values) in VALUES.items():
    add_values(name, type_info, values)
for name in SOURCES:
    add_source(name, *VALUES[name])


# --- what cannot be of a type

REFUSED = {
    "a text as an int": (Types.INT(), "1"),
    "a large int": (Types.INT(), 2**31),
    "a large byte": (Types.BYTE(), 128),
    "a very large long": (Types.LONG(), 2**63),
    "not a number as an int": (Types.INT(), float("nan")),
    "an int as a text": (Types.STRING(), 1),
    "bytes as a text": (Types.STRING(), b"a"),
    "a text as a double": (Types.DOUBLE(), "1.5"),
    "a text as a date": (Types.SQL_DATE(), "2020-01-02"),
    "a set as a list": (Types.LIST(Types.INT()), {1}),
    "an int as a list": (Types.LIST(Types.INT()), 1),
    "a text in a list of ints": (Types.LIST(Types.INT()), ["a"]),
    "a list as a map": (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)]),
    "a short tuple": (Types.TUPLE([Types.INT(), Types.INT()]), (1,)),
    "an int as a tuple": (Types.TUPLE([Types.INT()]), 1),
    "an int as a row": (AB, 1),
    "a row without a name": (AB, Row(a=1)),
    "none as a text": (Types.STRING(), None),
    "none as an int": (Types.INT(), None),
    "none in a tuple": (Types.TUPLE([Types.INT(), Types.STRING()]), (1, None)),
    "none in a list": (Types.LIST(Types.STRING()), ["a", None]),
    "none as a pickled one": (Types.PICKLED_BYTE_ARRAY(), None),
    "a long tuple": (Types.TUPLE([Types.INT()]), (1, 2)),
    "a tuple as a row": (AB, (1, "x")),
    "a list as a row": (AB, [1, "x"]),
    "a dict as a row": (AB, {"a": 1, "b": "x"}),
    "a row as a tuple": (Types.TUPLE([Types.INT(), Types.STRING()]), Row(1, "x")),
    "a tuple as a list": (Types.LIST(Types.INT()), (1, 2)),
    "a text as a big decimal": (Types.BIG_DEC(), "1.5"),
    "a date as a timestamp": (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 2)),
    "a timestamp with a zone": (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)),
    "a number as an instant": (Types.INSTANT(), 5),
    "a text as a boolean": (Types.BOOLEAN(), "x"),
    "a key that is none": (Types.MAP(Types.STRING(), Types.INT()), {None: 1}),
    "a lambda without a type": (None, lambda: 1),
}


def add_refused(name, type_info, value):
    @case(name=f"refused: {name}", alone=True)
    def _(env):
        return env.from_collection([value]).map(lambda each: each, output_type=type_info).rebalance()


for name, (type_info, value) in REFUSED.items():
    add_refused(name, type_info, value)
