# ruff: noqa
# mypy: ignore-errors
"""Keys of all kinds. Run after `base.py`, in the same namespace."""


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
    "alternating bools and ints": [1, 2, True, 2, 1],
    "alternating floats and ints": [1, 2, 1.0, 2, 1],
    "alternating zeros": [0.0, 1.0, -0.0, 1.0, 0.0],
    "alternating decimals": [Decimal("1.0"), Decimal(2), Decimal("1.00"), Decimal("1.0")],
    "empty ones": [(), "", [], (), ""],
    "times": [dt.time(1, 2), dt.time(1, 3), dt.time(1, 2)],
    "intervals": [dt.timedelta(1), dt.timedelta(2), dt.timedelta(1)],
    "kinds of rows": [RowKind.INSERT, RowKind.DELETE, RowKind.INSERT],
    "dicts in another order": [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
    "sets": [{1}, {2}, {1}],
    "dataclasses": [Point(1), Point(2), Point(1)],
    "not a number": [float("nan"), 1.0, float("nan")],
}


def add_keys(name, keys):
    @case(name=f"keys: {name}", sorts=True)
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
    "long": (Types.LONG(), [2**40, 2**40, -1]),
    "date": (Types.SQL_DATE(), [NOON.date(), NOON.date().replace(day=9), NOON.date()]),
    "timestamp": (Types.SQL_TIMESTAMP(), [NOON, NOON.replace(day=9), NOON]),
    "big decimal": (Types.BIG_DEC(), [Decimal("1.0"), Decimal(2), Decimal("1.0")]),
    "pickled": (Types.PICKLED_BYTE_ARRAY(), [(1, "a"), [1], (1, "a")]),
    "tuple of tuples": (
        Types.TUPLE([Types.TUPLE([Types.INT()]), Types.STRING()]),
        [((1,), "a"), ((2,), "a"), ((1,), "a")],
    ),
    "list": (Types.LIST(Types.INT()), [[1], [2], [1]]),
    "row by position": (Types.ROW([Types.INT(), Types.STRING()]), [Row(1, "a"), Row(2, "a"), Row(1, "a")]),
    "row with null": (Types.ROW([Types.INT(), Types.STRING()]), [Row(1, None), Row(None, "a"), Row(1, None)]),
}


def add_declared_keys(name, key_type, keys):
    @case(name=f"declared keys: {name}", sorts=True)
    def _(env):
        keyed = env.from_collection([(key,) for key in keys]).key_by(lambda each: each[0], key_type=key_type)
        return keyed.process(Count(), Types.STRING())


for name, (key_type, keys) in DECLARED_KEYS.items():
    add_declared_keys(name, key_type, keys)


class FirstField(datastream.KeySelector):
    def get_key(self, value):
        return value[0]


@case(sorts=True)
def key_selector_class(env):
    return env.from_collection(PAIRS).key_by(FirstField()).process(Count(), Types.STRING())


@case(sorts=True)
def keyed_twice(env):
    pairs = env.from_collection(PAIRS, type_info=PAIR).key_by(lambda pair: pair[0]).key_by(lambda pair: pair[1] % 2)
    return pairs.process(Count(), Types.STRING())


@case(sorts=True)
def key_by_a_field_of_a_row(env):
    rows = env.from_collection(PAIRS, type_info=NAMED)
    return rows.key_by(lambda row: row.k).process(Count(), Types.STRING())


@case(alone=True)
def key_that_is_not_of_its_type(env):
    return env.from_collection(["a"]).key_by(lambda each: each, key_type=Types.INT()).process(Count(), Types.STRING())


@case(alone=True)
def key_selector_that_fails(env):
    return env.from_collection([1]).key_by(lambda each: each[0]).process(Count(), Types.STRING())
