# ruff: noqa
# mypy: ignore-errors
"""State. Run after `base.py`, in the same namespace."""


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


@case(sorts=True, batches=True)
def state_of_each_kind(env):
    return by_key(env, records=[("a", 3), ("a", 5), ("b", 1)]).process(Kinds(), output_type=Types.STRING())


class Rows(datastream.KeyedProcessFunction):
    def open(self, runtime_context):
        self.row = runtime_context.get_state(state.ValueStateDescriptor("row", ab()))

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


# --- each method of state


class Uses(datastream.KeyedProcessFunction):
    """Opens state with `opened` and emits what `used` returns for each record."""

    def __init__(self, opened, used):
        self.opened, self.used = opened, used

    def open(self, runtime_context):
        self.state = self.opened(runtime_context)

    def process_element(self, value, ctx):
        yield f"{ctx.get_current_key()} {self.used(self.state, value[1])}"


def a_value(context):
    return context.get_state(state.ValueStateDescriptor("value", Types.INT()))


def an_undeclared_value(context):
    return context.get_state(state.ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY()))


def a_list(context):
    return context.get_list_state(state.ListStateDescriptor("list", Types.INT()))


def a_map(context):
    return context.get_map_state(state.MapStateDescriptor("map", Types.INT(), Types.STRING()))


class Mean(datastream.AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


def a_mean(context):
    types = Types.TUPLE([Types.INT(), Types.INT()])
    return context.get_aggregating_state(state.AggregatingStateDescriptor("mean", Mean(), types))


def a_sum(context):
    return context.get_reducing_state(state.ReducingStateDescriptor("sum", lambda one, other: one + other, Types.INT()))


def with_time_to_live(context):
    descriptor = state.ValueStateDescriptor("lives", Types.INT())
    config = state.StateTtlConfig.new_builder(Time.hours(1))
    descriptor.enable_time_to_live(config.set_update_type(state.StateTtlConfig.UpdateType.OnReadAndWrite).build())
    return context.get_state(descriptor)


def added(each, n):
    each.add(n)
    return each.get()


def updated(each, n):
    before = each.value()
    each.update(n)
    return before, each.value()


def updated_and_cleared(each, n):
    each.update(n)
    each.clear()
    return each.value()


def appended(each, n):
    before = each.value() or []
    each.update([*before, n])
    return each.value()


def listed(each, n):
    before = list(each.get() or [])
    each.add_all([n, n])
    return before, list(each), type(each.get()).__name__ == "NoneType"


def replaced(each, n):
    each.add(1)
    each.update([n])
    return list(each.get())


def emptied(each, n):
    each.add(n)
    each.clear()
    return list(each.get() or []), list(each)


def mapped(each, n):
    each.put_all({n: "x", n + 1: "y"})
    each[n] += "z"
    del each[n + 1]
    return sorted(each.items()), sorted(each.values()), sorted(each), each.get(99), each.is_empty()


def removed(each, n):
    each.put(n, "x")
    each.remove(n)
    each.remove(77)
    return each.is_empty(), each.contains(n), list(each.keys())


def cleared_map(each, n):
    each.put(n, "x")
    each.clear()
    return list(each.items())


def without(each, n):
    try:
        return each[n]
    except KeyError as error:
        return type(error).__name__


def summed_and_cleared(each, n):
    before = each.get()
    each.add(n)
    each.add(n)
    after = each.get()
    each.clear()
    return before, after, each.get()


USES = {
    "value": (a_value, updated),
    "value, cleared": (a_value, updated_and_cleared),
    "value of any type": (an_undeclared_value, appended),
    "value with time to live": (with_time_to_live, updated),
    "list": (a_list, listed),
    "list, updated": (a_list, replaced),
    "list, cleared": (a_list, emptied),
    "map": (a_map, mapped),
    "map, removed": (a_map, removed),
    "map, cleared": (a_map, cleared_map),
    "map without the key": (a_map, without),
    "reducing": (a_sum, added),
    "reducing, cleared": (a_sum, summed_and_cleared),
    "aggregating": (a_mean, added),
    "aggregating, cleared": (a_mean, summed_and_cleared),
}


def add_use(name, opened, used):
    @case(name=f"state: {name}", sorts=True, batches=True)
    def _(env):
        return by_key(env).process(Uses(opened, used), Types.STRING())


for name, (opened, used) in USES.items():
    add_use(name, opened, used)


TYPED_STATE = {
    "a float in an int": (lambda: Types.INT(), 1.5),
    "a tuple": (lambda: Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a")),
    "a list in a tuple": (lambda: Types.TUPLE([Types.INT(), Types.STRING()]), [1, "a"]),
    "a text in an int": (lambda: Types.INT(), "a"),
    "a float": (lambda: Types.FLOAT(), 0.1),
    "a timestamp": (lambda: Types.SQL_TIMESTAMP(), NOON),
    "a map": (lambda: Types.MAP(Types.STRING(), Types.INT()), {"a": 1}),
    "a pickled set": (lambda: Types.PICKLED_BYTE_ARRAY(), {1}),
}


class Keeps(datastream.KeyedProcessFunction):
    def __init__(self, made, kept):
        self.made, self.kept = made, kept

    def open(self, runtime_context):
        self.state = runtime_context.get_state(state.ValueStateDescriptor("kept", self.made()))

    def process_element(self, value, ctx):
        yield f"{self.state.value()!r}"
        self.state.update(self.kept)


def add_typed_state(name, made, kept):
    @case(name=f"state of a type: {name}", sorts=True, alone=True)
    def _(env):
        return by_key(env, records=[("a", 1), ("b", 1), ("a", 2)]).process(Keeps(made, kept), Types.STRING())


for name, (made, kept) in TYPED_STATE.items():
    add_typed_state(name, made, kept)


class CountingMap(datastream.MapFunction):
    def open(self, runtime_context):
        self.count = a_value(runtime_context)

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return f"{value[0]} {self.count.value()}"


@case(sorts=True, batches=True)
def state_in_a_map_function(env):
    return by_key(env).map(CountingMap(), Types.STRING())


class CountingFlatMap(datastream.FlatMapFunction):
    def open(self, runtime_context):
        self.count = a_value(runtime_context)

    def flat_map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        if self.count.value() > 1:
            yield f"{value[0]} {self.count.value()}"


@case(sorts=True)
def state_in_a_flat_map_function(env):
    return by_key(env).flat_map(CountingFlatMap(), Types.STRING())


class Firsts(datastream.FilterFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(state.ValueStateDescriptor("seen", Types.BOOLEAN()))

    def filter(self, value):
        first = self.seen.value() is None
        self.seen.update(True)
        return first


@case(sorts=True, batches=True)
def state_in_a_filter_function(env):
    return by_key(env).filter(Firsts())


@case(alone=True)
def state_without_a_key(env):
    return env.from_collection(PAIRS).map(CountingMap(), Types.STRING())


@case(alone=True)
def state_written_in_open(env):
    class Early(datastream.KeyedProcessFunction):
        def open(self, runtime_context):
            a_value(runtime_context).update(1)

        def process_element(self, value, ctx):
            yield "never"

    return by_key(env).process(Early(), Types.STRING())


@case(alone=True)
def state_of_one_name_twice(env):
    class Twice(datastream.KeyedProcessFunction):
        def open(self, runtime_context):
            self.one, self.other = a_value(runtime_context), a_value(runtime_context)

        def process_element(self, value, ctx):
            self.one.update(value[1])
            yield str(self.other.value())

    return by_key(env).process(Twice(), Types.STRING())
