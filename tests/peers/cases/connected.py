# ruff: noqa
# mypy: ignore-errors
"""Connected streams and side outputs. Run after `base.py`, in the same namespace."""


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


@case(sorts=True, batches=True)
def connect_by_key(env):
    one, other = env.from_collection(PAIRS, type_info=PAIR), env.from_collection([("a", 1)], type_info=PAIR)
    keyed = one.connect(other).key_by(lambda pair: pair[0], lambda pair: pair[0], Types.STRING())
    return keyed.process(CountBoth(), output_type=Types.STRING())


@case(sorts=True)
def connect_undeclared(env):
    return env.from_collection([1]).connect(env.from_collection(["x"])).map(Both())


class Couple(datastream.CoProcessFunction):
    def __init__(self, tag):
        self.tag = tag

    def process_element1(self, value, ctx):
        yield value * 2
        yield self.tag, f"one {value}"

    def process_element2(self, value, ctx):
        yield self.tag, f"two {value}"


@case(sorts=True)
def connect_and_process_with_a_side_output(env):
    tag = OutputTag("couple", Types.STRING())
    one, other = env.from_collection([1], type_info=Types.INT()), env.from_collection(["x"], type_info=Types.STRING())
    return one.connect(other).process(Couple(tag), Types.INT()).get_side_output(tag)


class BothReturn(datastream.CoMapFunction):
    def map1(self, value):
        return value if value > 1 else None

    def map2(self, value):
        return None


@case(sorts=True)
def connect_and_map_to_none(env):
    numbers = env.from_collection([1, 2], type_info=Types.INT())
    return numbers.connect(numbers).map(BothReturn(), output_type=Types.INT())


class KeyedBoth(datastream.CoMapFunction):
    def open(self, runtime_context):
        self.sum = runtime_context.get_state(state.ValueStateDescriptor("sum", Types.INT()))

    def map1(self, value):
        self.sum.update((self.sum.value() or 0) + value[1])
        return f"{value[0]} {self.sum.value() > 0}"

    def map2(self, value):
        return f"{value[0]} second"


@case(sorts=True, batches=True)
def connect_keyed_streams_and_map(env):
    return by_key(env).connect(by_key(env)).map(KeyedBoth(), Types.STRING())


class KeyedBothFlat(datastream.CoFlatMapFunction):
    def flat_map1(self, value):
        yield value[0]
        yield value[0].upper()

    def flat_map2(self, value):
        return [value[0] + "!"]


@case(sorts=True)
def connect_keyed_streams_and_flat_map(env):
    return by_key(env).connect(by_key(env)).flat_map(KeyedBothFlat(), Types.STRING())


class Aside(datastream.ProcessFunction):
    def __init__(self, tag):
        self.tag = tag

    def process_element(self, value, ctx):
        yield value
        yield self.tag, (f"side {value}", value * 1.5)


@case()
def main_output_beside_a_side_output(env):
    tag = OutputTag("side", Types.TUPLE([Types.STRING(), Types.INT()]))
    return env.from_collection([1, 2]).process(Aside(tag), output_type=Types.INT())


@case()
def side_output_of_a_declared_type(env):
    tag = OutputTag("side", Types.TUPLE([Types.STRING(), Types.INT()]))
    return env.from_collection([1, 3]).process(Aside(tag), output_type=Types.INT()).get_side_output(tag)


@case()
def side_output_of_rows(env):
    tag = OutputTag("rows", ab())

    class ToRows(datastream.ProcessFunction):
        def process_element(self, value, ctx):
            yield tag, Row(b="x", a=value)

    rows = env.from_collection([1]).process(ToRows(), output_type=Types.INT()).get_side_output(tag)
    return rows.map(lambda row: f"{row.a} {row.b} {row[0]}", output_type=Types.STRING())


@case(sorts=True)
def two_side_outputs(env):
    odd, big = OutputTag("odd", Types.INT()), OutputTag("big", Types.STRING())

    class Sorts(datastream.ProcessFunction):
        def process_element(self, value, ctx):
            if value % 2:
                yield odd, value
            if value > 2:
                yield big, f"big {value}"
            yield value

    sorted_out = env.from_collection([1, 2, 3]).process(Sorts(), output_type=Types.INT())
    odds = sorted_out.get_side_output(odd).map(lambda n: f"odd {n}", Types.STRING())
    return odds.union(sorted_out.get_side_output(big)).map(lambda text: text, Types.STRING())


@case()
def side_output_without_a_type(env):
    tag = OutputTag("untyped")

    class Untyped(datastream.ProcessFunction):
        def process_element(self, value, ctx):
            yield tag, (value, [value])

    return env.from_collection([1]).process(Untyped()).get_side_output(tag)


@case(alone=True)
def side_output_of_another_type(env):
    tag = OutputTag("numbers", Types.INT())

    class Texts(datastream.ProcessFunction):
        def process_element(self, value, ctx):
            yield tag, "text"

    return env.from_collection([1]).process(Texts(), Types.INT()).get_side_output(tag)


@case(alone=True)
def side_output_that_nothing_reads(env):
    tag = OutputTag("unread", Types.INT())

    class Unread(datastream.ProcessFunction):
        def process_element(self, value, ctx):
            yield tag, value
            yield value

    return env.from_collection([1]).process(Unread(), Types.INT())


class KeyedAside(datastream.KeyedProcessFunction):
    def __init__(self, tag):
        self.tag = tag

    def process_element(self, value, ctx):
        yield self.tag, f"{ctx.get_current_key()} {value[1]}"


@case(sorts=True, batches=True)
def side_output_by_key(env):
    tag = OutputTag("keyed", Types.STRING())
    return by_key(env).process(KeyedAside(tag), Types.INT()).get_side_output(tag)
