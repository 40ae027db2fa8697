# ruff: noqa
# mypy: ignore-errors
"""More programs: keys, operators, state, collecting. Run after `cases.py`, in the same namespace."""

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
}


def add_declared_keys(name, key_type, keys):
    @case(name=f"declared keys: {name}", sorts=True)
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


@case(alone=True)
def a_failing_function(env):
    return env.from_collection([0], type_info=Types.INT()).map(lambda n: 1 // n, output_type=Types.INT())


@case(alone=True)
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
