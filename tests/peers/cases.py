# ruff: noqa
# mypy: ignore-errors
"""Small programs whose output PyFlink and headgate are compared by. The import root is a parameter: `ROOT`.

This file is run, not imported, so that its functions travel with the jobs. A case is a function of an environment: it
returns a stream, which the runner prints, or a list, of which it prints the `repr` of each value. Of one that fails, only
that it does is compared.
"""

import datetime as dt
import importlib
from dataclasses import dataclass
from decimal import Decimal

common = importlib.import_module(f"{ROOT}.common")
datastream = importlib.import_module(f"{ROOT}.datastream")
state = importlib.import_module(f"{ROOT}.datastream.state")

Types, Row, RowKind, Instant = common.Types, common.Row, common.RowKind, common.Instant
Time, Duration = common.Time, common.Duration
OutputTag = datastream.OutputTag

CASES = {}


@dataclass
class Case:
    build: object
    sorts: bool
    alone: bool


def case(*, sorts=False, alone=False, name=None):
    """Add a case. `sorts`: the order of its lines means nothing. `alone`: it fails, or returns a list."""

    def add(build):
        CASES[name or build.__name__] = Case(build, sorts, alone)
        return build

    return add


# --- values of declared types: through map, behind an exchange, and in from_collection

AB = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
NOON = dt.datetime(2020, 1, 2, 12, 30, 5, 678000)

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
    "row of a list": (Types.ROW([Types.LIST(Types.INT())]), [Row([1, 2])]),
    "row of a map": (Types.ROW([Types.MAP(Types.STRING(), Types.INT())]), [Row({"a": 1})]),
    "list of rows": (Types.LIST(AB), [[Row(1, "x"), Row(b="y", a=2)]]),
    "list of tuples": (Types.LIST(Types.TUPLE([Types.INT(), Types.STRING()])), [[(1, "a")]]),
    "list of lists": (Types.LIST(Types.LIST(Types.INT())), [[[1], [2, 3]]]),
    "map of rows": (Types.MAP(Types.STRING(), AB), [{"k": Row(1, "x")}]),
    "pickled": (Types.PICKLED_BYTE_ARRAY(), [1, "a", None, (1, "a"), [1], {"a": 1}, 1.5, True]),
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
}


def add_refused(name, type_info, value):
    @case(name=f"refused: {name}", alone=True)
    def _(env):
        return env.from_collection([value]).map(lambda each: each, output_type=type_info).rebalance()


for name, (type_info, value) in REFUSED.items():
    add_refused(name, type_info, value)


# --- rows by themselves


@case(alone=True)
def row_keeps_the_order_of_keywords(env):
    row = Row(b=2, a=1)
    return [row, row[0], row.a, list(row), row.as_dict(), row["b"], len(row)]


@case(alone=True)
def row_contains_names(env):
    return ["a" in Row(a=1), 1 in Row(a=1), 1 in Row(1), "x" in Row("x"), "y" in Row("x")]


@case(alone=True)
def rows_are_equal_by_name(env):
    return [
        Row(a=1, b=2) == Row(b=2, a=1),
        Row(1, 2) == Row(1, 2),
        Row(1, 2) == Row(a=1, b=2),
        Row(1) == (1,),
        Row.of_kind(RowKind.DELETE, 1) == Row(1),
    ]


@case(alone=True)
def row_kinds_have_signs(env):
    return [str(kind) for kind in RowKind] + [Row.of_kind(RowKind.UPDATE_BEFORE, 1).get_row_kind()]


@case(alone=True)
def row_of_names_makes_rows(env):
    person = Row("name", "age")
    return [person, person("ann", 7), "name" in person]


@case(alone=True)
def row_as_dict_goes_into_rows(env):
    row = Row(a=1, b=Row(c=2), d=[Row(e=3)], f={"g": Row(h=4)})
    return [row.as_dict(), row.as_dict(True)]


@case(alone=True)
def row_is_changed_by_name_and_place(env):
    row = Row(a=1, b=2)
    row["a"], row[1] = 10, 20
    return [row, row.get_fields_by_names(["b", "a"])]


@case(alone=True)
def row_is_named_later(env):
    row = Row(1, 2)
    row.set_field_names(["x", "y"])
    return [row, row.x, row.as_dict()]


@case(alone=True)
def texts_of_types(env):
    return [
        str(Row(1, "a")),
        str(Row(a=1)),
        repr(Instant(1, 5)),
        Types.INT() == Types.INT(),
        Types.INT() == Types.LONG(),
    ]


@case(alone=True)
def types_of_rows_have_names(env):
    return [AB.get_field_names(), Types.ROW([Types.INT(), Types.INT()]).get_field_names(), len(AB.get_field_types())]


@case(alone=True)
def durations_and_times(env):
    return [
        Duration.of_seconds(2) == Duration.of_millis(2000),
        Time.seconds(3).to_milliseconds(),
        Time.days(1).to_milliseconds(),
    ]


@case(alone=True)
def configurations_are_compared(env):
    one, other = common.Configuration(), common.Configuration()
    one.set_string("a", "1").set_integer("b", 2).set_boolean("c", True)
    other.set_boolean("c", True).set_integer("b", 2).set_string("a", "1")
    return [
        one == other,
        hash(one) == hash(other),
        sorted(one.to_dict().items()),
        one.get_integer("b", 0),
        one.contains_key("x"),
    ]


@case(alone=True)
def lists_of_configurations(env):
    return [common.Configuration.parse_list_value(text) for text in ("", "a;b", "[a, b]", "a")]


@case(alone=True)
def settings_of_an_environment(env):
    config = env.get_config()
    return [
        env.get_max_parallelism(), env.is_chaining_enabled(), env.get_buffer_timeout(), env.get_checkpoint_interval(),
        config.is_object_reuse_enabled(), config.get_auto_watermark_interval(), config.get_task_cancellation_interval(),
        env.get_checkpointing_mode().name, config.get_max_parallelism(),
    ]  # fmt: skip


@case(alone=True)
def settings_of_checkpoints(env):
    env.enable_checkpointing(3000)
    config = env.get_checkpoint_config()
    return [
        env.get_checkpoint_interval(), env.get_checkpointing_mode().name, config.get_checkpoint_timeout(),
        config.get_min_pause_between_checkpoints(), config.get_max_concurrent_checkpoints(),
        config.get_tolerable_checkpoint_failure_number(), config.is_unaligned_checkpoints_enabled(),
    ]  # fmt: skip
