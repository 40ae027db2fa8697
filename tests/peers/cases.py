# ruff: noqa
# mypy: ignore-errors
"""Small programs whose output PyFlink and headgate are compared by. The import root is a parameter: `ROOT`.

This file is run, not imported, so that its functions travel with the jobs. A case is a function of an environment: it
returns a stream, which the runner prints, or a list, of which the runner prints each value's `repr`. A `fails` case is to
fail: only whether it does is compared. `differs` says why the two may differ; then they have to.
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
    differs: str = ""
    fails: bool = False
    sorts: bool = False
    alone: bool = False


def case(differs="", fails=False, sorts=False, alone=False, name=None):
    def add(build):
        CASES[name or build.__name__] = Case(build, differs, fails, sorts, alone)
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

    @case(name=f"print: {name}", differs=DIFFERS.get(f"print: {name}", ""), fails=f"print: {name}" in FAILS)
    def _(env):
        return env.from_collection(values).map(lambda value: value, output_type=type_info).rebalance()

    @case(name=f"python: {name}", differs=DIFFERS.get(f"python: {name}", ""), fails=f"python: {name}" in FAILS)
    def _(env):
        typed = env.from_collection(values).map(lambda value: value, output_type=type_info)
        return typed.rebalance().map(shown, output_type=Types.STRING())


SOURCES = [
    "string", "boolean", "int", "long", "float", "double", "big decimal", "date", "time", "timestamp", "list of ints", "map", "tuple",
    "tuple in a tuple", "row by position", "row with null", "row by position with names", "row in a row", "list of tuples",
]  # fmt: skip


def add_source(name, type_info, values):
    @case(name=f"source: {name}", differs=DIFFERS.get(f"source: {name}", ""), fails=f"source: {name}" in FAILS)
    def _(env):
        return env.from_collection(values, type_info=type_info).map(shown, output_type=Types.STRING())


DIFFERS = REASONS
FAILS = set()
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
    @case(name=f"refused: {name}", fails=True, alone=True, differs=DIFFERS.get(f"refused: {name}", ""))
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


# --- keys


class Count(datastream.KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(state.ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{ctx.get_current_key()!r} {count}"


KEYS = {
    "ints": [1, 2, 1],
    "texts": ["a", "b", "a"],
    "bytes": [b"a", b"b", b"a"],
    "tuples": [(1, "a"), (1, "b"), (1, "a")],
    "none": [None, 1, None],
    "bools and ints": [1, True, 1, True],
    "floats and ints": [1, 1.0, 1, 1.0],
    "decimals": [Decimal("1.0"), Decimal("1.00"), Decimal("1.0")],
    "lists": [[1, 2], [2, 1], [1, 2]],
    "dicts": [{"a": 1}, {"a": 2}, {"a": 1}],
    "frozensets": [frozenset({1}), frozenset({2}), frozenset({1})],
    "dates": [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 1)],
    "datetimes": [NOON, NOON.replace(hour=1), NOON],
    "rows": [Row(1, "a"), Row(2, "a"), Row(1, "a")],
    "rows with names": [Row(a=1), Row(a=2), Row(a=1)],
    "nested": [(1, [2]), (1, [3]), (1, [2])],
    "large ints": [2**70, 2**71, 2**70],
    "zeros": [0.0, -0.0, 0.0],
    "not a number": [float("nan"), 1.0, float("nan")],
}


def add_keys(name, keys):
    @case(name=f"keys: {name}", sorts=True, differs=DIFFERS.get(f"keys: {name}", ""))
    def _(env):
        return (
            env.from_collection([(key,) for key in keys]).key_by(lambda each: each[0]).process(Count(), Types.STRING())
        )


for name, keys in KEYS.items():
    add_keys(name, keys)

DECLARED_KEYS = {
    "int of bools": (Types.INT(), [1, True, 2]),
    "int of floats": (Types.INT(), [1, 1.9, 2.0]),
    "double of ints": (Types.DOUBLE(), [1, 1.0, 2]),
    "text": (Types.STRING(), ["a", "b", "a"]),
    "tuple of a list": (Types.TUPLE([Types.INT(), Types.STRING()]), [(1, "a"), [1, "a"], (1, "b")]),
    "row": (AB, [Row(1, "a"), Row(b="a", a=1), Row(2, "a")]),
    "boolean": (Types.BOOLEAN(), [True, 1, False]),
}


def add_declared_keys(name, key_type, keys):
    @case(name=f"declared keys: {name}", sorts=True, differs=DIFFERS.get(f"declared keys: {name}", ""))
    def _(env):
        keyed = env.from_collection([(key,) for key in keys]).key_by(lambda each: each[0], key_type=key_type)
        return keyed.process(Count(), Types.STRING())


for name, (key_type, keys) in DECLARED_KEYS.items():
    add_declared_keys(name, key_type, keys)


# --- operators

PAIRS = [("a", 3), ("b", 1), ("a", 5), ("b", 2), ("a", 1)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
NAMED = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])


def by_key(env, type_info=PAIR, records=PAIRS):
    return env.from_collection(records, type_info=type_info).key_by(lambda each: each[0], key_type=Types.STRING())


@case(sorts=True)
def sum_of_tuples(env):
    return by_key(env).sum(1)


@case(sorts=True)
def sum_of_rows_by_name(env):
    return by_key(env, NAMED).sum("v")


@case(sorts=True)
def sum_of_texts(env):
    return by_key(env, Types.TUPLE([Types.STRING(), Types.STRING()]), [("a", "x"), ("a", "y"), ("b", "z")]).sum(1)


@case(sorts=True)
def min_of_tuples(env):
    return by_key(env).min(1)


@case(sorts=True)
def max_of_rows(env):
    return by_key(env, NAMED).max("v")


@case(sorts=True)
def min_by_of_tuples(env):
    return by_key(env).min_by(1)


@case(sorts=True)
def max_by_of_rows_by_name(env):
    return by_key(env, NAMED).max_by("v")


@case(sorts=True)
def sum_of_plain_values(env):
    return env.from_collection([1, 2, 3, 4], type_info=Types.INT()).key_by(lambda n: n % 2, key_type=Types.INT()).sum()


@case(sorts=True)
def reduce_by_key(env):
    return by_key(env).reduce(lambda one, other: (one[0], one[1] + other[1]))


@case(sorts=True)
def reduce_that_makes_floats(env):
    return by_key(env).reduce(lambda one, other: (one[0], one[1] + other[1] + 0.5))


class Joined(datastream.ReduceFunction):
    def reduce(self, value1, value2):
        return Row(value1.k, value1.v * 10 + value2.v)


@case(sorts=True)
def reduce_of_rows(env):
    return by_key(env, NAMED).reduce(Joined())


@case()
def filter_keeps_the_type(env):
    return env.from_collection(PAIRS, type_info=PAIR).filter(lambda pair: pair[1] > 1).map(shown, Types.STRING())


@case()
def filter_by_what_is_not_a_bool(env):
    return env.from_collection([0, 1, 2], type_info=Types.INT()).filter(lambda n: n)


@case()
def flat_map_that_yields(env):
    def twice(value):
        yield value
        yield value * 10

    return env.from_collection([1, 2], type_info=Types.INT()).flat_map(twice, output_type=Types.INT())


@case()
def flat_map_that_returns_a_list(env):
    return env.from_collection([1, 2]).flat_map(lambda n: [n] * n, output_type=Types.INT())


@case()
def flat_map_that_returns_none(env):
    return env.from_collection([1, 2, 3]).flat_map(lambda n: [n] if n != 2 else None, output_type=Types.INT())


@case()
def flat_map_of_a_text(env):
    return env.from_collection(["ab", "c"]).flat_map(lambda text: text, output_type=Types.STRING())


@case()
def map_without_a_type(env):
    return env.from_collection([1, 2]).map(lambda n: (n, [n], {"n": n}, None, 1.5, True))


@case()
def map_to_none(env):
    return env.from_collection([1]).map(lambda n: None)


@case()
def map_to_a_row_without_a_type(env):
    return env.from_collection([1]).map(lambda n: Row(a=n, b="x"))


@case()
def map_class_with_open_and_close(env):
    class Adds(datastream.MapFunction):
        def open(self, runtime_context):
            self.more = int(runtime_context.get_number_of_parallel_subtasks())

        def map(self, value):
            return value + self.more

    return env.from_collection([1, 2]).map(Adds(), output_type=Types.INT())


@case(sorts=True)
def union_of_two(env):
    one, other = env.from_collection([1, 2], type_info=Types.INT()), env.from_collection([3], type_info=Types.INT())
    return one.union(other)


@case()
def union_of_nothing(env):
    return env.from_collection([1, 2], type_info=Types.INT()).union()


@case()
def project_some_fields(env):
    triples = env.from_collection([(1, "a", 2.5)], type_info=Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]))
    return triples.project(2, 0)


@case(sorts=True)
def rebalance_shuffle_rescale_broadcast(env):
    numbers = env.from_collection([1, 2], type_info=Types.INT())
    return (
        numbers.rebalance().map(lambda n: n, Types.INT()).rescale().map(lambda n: n, Types.INT()).shuffle().broadcast()
    )


@case(sorts=True)
def partition_custom_by_a_function(env):
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    return numbers.partition_custom(lambda key, count: key % count, lambda n: n)


class Both(datastream.CoMapFunction):
    def map1(self, value):
        return f"first {value}"

    def map2(self, value):
        return f"second {value!r}"


@case(sorts=True)
def connect_and_map(env):
    one, other = env.from_collection([1], type_info=Types.INT()), env.from_collection(["x"], type_info=Types.STRING())
    return one.connect(other).map(Both(), output_type=Types.STRING())


class BothFlat(datastream.CoFlatMapFunction):
    def flat_map1(self, value):
        yield value, "first"

    def flat_map2(self, value):
        yield len(value), value


@case(sorts=True)
def connect_and_flat_map(env):
    one, other = env.from_collection([1], type_info=Types.INT()), env.from_collection(["xy"], type_info=Types.STRING())
    return one.connect(other).flat_map(BothFlat(), output_type=Types.TUPLE([Types.INT(), Types.STRING()]))


class CountBoth(datastream.KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(state.ValueStateDescriptor("count", Types.INT()))

    def process_element1(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{ctx.get_current_key()} {value[1] > 0}"

    def process_element2(self, value, ctx):
        yield f"{ctx.get_current_key()} {value[1] > 0}"


@case(sorts=True)
def connect_by_key(env):
    one, other = env.from_collection(PAIRS, type_info=PAIR), env.from_collection([("a", 1)], type_info=PAIR)
    keyed = one.connect(other).key_by(lambda pair: pair[0], lambda pair: pair[0], Types.STRING())
    return keyed.process(CountBoth(), output_type=Types.STRING())


SIDE = OutputTag("side", Types.TUPLE([Types.STRING(), Types.INT()]))


class Aside(datastream.ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield SIDE, (f"side {value}", value * 1.5)


@case()
def main_output_beside_a_side_output(env):
    return env.from_collection([1, 2]).process(Aside(), output_type=Types.INT())


@case()
def side_output_of_a_declared_type(env):
    return env.from_collection([1, 3]).process(Aside(), output_type=Types.INT()).get_side_output(SIDE)


@case()
def side_output_of_rows(env):
    tag = OutputTag("rows", AB)

    class ToRows(datastream.ProcessFunction):
        def process_element(self, value, ctx):
            yield tag, Row(b="x", a=value)

    rows = env.from_collection([1]).process(ToRows(), output_type=Types.INT()).get_side_output(tag)
    return rows.map(lambda row: f"{row.a} {row.b} {row[0]}", output_type=Types.STRING())


@case()
def rows_behind_an_exchange_have_names(env):
    rows = env.from_collection([(1, "x")]).map(lambda pair: Row(*pair), output_type=AB).rebalance()
    return rows.map(lambda row: f"{row.a} {row['b']} {row.as_dict()}", output_type=Types.STRING())


@case()
def rows_of_a_source_have_names(env):
    rows = env.from_collection([Row(1, "x"), Row(2, "y")], type_info=AB)
    return rows.map(lambda row: f"{row.a} {row.b}", output_type=Types.STRING())


@case(sorts=True)
def rows_as_keyed_records(env):
    rows = env.from_collection([(1, "x"), (2, "x")]).map(lambda pair: Row(b=pair[1], a=pair[0]), output_type=AB)
    return rows.key_by(lambda row: row.b, key_type=Types.STRING()).map(lambda row: f"{row.a} {row.b}", Types.STRING())


# --- state


class Kinds(datastream.KeyedProcessFunction):
    def open(self, runtime_context):
        self.value = runtime_context.get_state(state.ValueStateDescriptor("value", Types.INT()))
        self.list = runtime_context.get_list_state(state.ListStateDescriptor("list", Types.INT()))
        self.map = runtime_context.get_map_state(state.MapStateDescriptor("map", Types.STRING(), Types.INT()))
        total = state.ReducingStateDescriptor("total", lambda one, other: one + other, Types.INT())
        self.total = runtime_context.get_reducing_state(total)

    def process_element(self, value, ctx):
        self.value.update(value[1])
        self.list.add(value[1])
        self.map.put(str(value[1]), value[1])
        self.total.add(value[1])
        known = sorted(self.map.items())
        yield f"{ctx.get_current_key()} {self.value.value()} {list(self.list)} {known} {self.total.get()}"


@case(sorts=True)
def state_of_each_kind(env):
    return by_key(env, records=[("a", 3), ("a", 5), ("b", 1)]).process(Kinds(), output_type=Types.STRING())


class Rows(datastream.KeyedProcessFunction):
    def open(self, runtime_context):
        self.row = runtime_context.get_state(state.ValueStateDescriptor("row", AB))

    def process_element(self, value, ctx):
        before = self.row.value()
        self.row.update(Row(value[1], value[0]))
        yield f"{None if before is None else (before.a, before.b)}"


@case(sorts=True)
def rows_in_state_have_names(env):
    return by_key(env, records=[("a", 3), ("a", 5)]).process(Rows(), output_type=Types.STRING())


class MapState(datastream.KeyedProcessFunction):
    def open(self, runtime_context):
        self.map = runtime_context.get_map_state(state.MapStateDescriptor("map", Types.STRING(), Types.INT()))

    def process_element(self, value, ctx):
        empty = self.map.is_empty()
        self.map.put(value[0], value[1])
        yield f"{empty} {self.map.contains('a')} {self.map.get('z')} {sorted(self.map.keys())} {'a' in self.map}"


@case(sorts=True)
def map_state_answers(env):
    return by_key(env, records=[("a", 3), ("b", 5)]).process(MapState(), output_type=Types.STRING())


class Timers(datastream.KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])
        yield f"at {ctx.timestamp()}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} fired {timestamp} {ctx.timestamp()} {ctx.time_domain().name}"


class First(
    common.watermark_strategy.TimestampAssigner
    if ROOT == "headgate"
    else importlib.import_module(f"{ROOT}.common.watermark_strategy").TimestampAssigner
):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


@case(sorts=True)
def timers_of_event_time(env):
    strategy = common.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(First())
    timed = env.from_collection(PAIRS[:1] + PAIRS[2:3], type_info=PAIR).assign_timestamps_and_watermarks(strategy)
    return timed.key_by(lambda pair: pair[0], key_type=Types.STRING()).process(Timers(), output_type=Types.STRING())


RULES = state.MapStateDescriptor("rules", Types.INT(), Types.STRING())


class Ruled(datastream.BroadcastProcessFunction):
    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value, f"rule {value}")

    def process_element(self, value, ctx):
        yield f"{value} {ctx.get_broadcast_state(RULES).contains(7)}"[:1]


@case(sorts=True)
def broadcast_state(env):
    rules = env.from_collection([7], type_info=Types.INT()).broadcast(RULES)
    numbers = env.from_collection([1, 2], type_info=Types.INT())
    return numbers.connect(rules).process(Ruled(), output_type=Types.STRING())


# --- collecting


@case(alone=True)
def collect_values(env):
    with env.from_collection([1, 2], type_info=Types.INT()).execute_and_collect() as records:
        return list(records)


@case(alone=True)
def collect_rows(env):
    with env.from_collection([(1, "x")]).map(lambda pair: Row(*pair), output_type=AB).execute_and_collect() as records:
        return [(row, row.as_dict()) for row in records]


@case(alone=True)
def collect_tuples(env):
    typed = env.from_collection([[1, "x"]]).map(
        lambda each: each, output_type=Types.TUPLE([Types.INT(), Types.STRING()])
    )
    with typed.execute_and_collect() as records:
        return list(records)


@case(alone=True)
def collect_without_a_type(env):
    with env.from_collection([(1, [2]), None, "a"]).map(lambda each: each).execute_and_collect() as records:
        return list(records)


@case(alone=True)
def collect_some(env):
    return env.from_collection([1, 2, 3], type_info=Types.INT()).execute_and_collect(limit=2)


@case(alone=True, fails=True)
def a_failing_function(env):
    return env.from_collection([0], type_info=Types.INT()).map(lambda n: 1 // n, output_type=Types.INT())


@case(alone=True, fails=True)
def reading_a_field_that_is_not_there(env):
    return env.from_collection([Row(a=1)]).map(lambda row: row.b, output_type=Types.INT())


@case(alone=True)
def the_plan_of_a_program(env):
    import json

    env.from_collection([1]).map(lambda n: n, output_type=Types.INT()).key_by(lambda n: n).map(lambda n: n).print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    return sorted({node["pact"] for node in nodes}) + sorted(
        {edge["ship_strategy"] for node in nodes for edge in node.get("predecessors", [])}
    )
