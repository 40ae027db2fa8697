# ruff: noqa
# mypy: ignore-errors
"""Operators, what they emit, what functions know. Run after `base.py`, in the same namespace."""


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


@case(sorts=True, batches=True)
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


@case()
def rows_behind_an_exchange_have_names(env):
    rows = env.from_collection([(1, "x")]).map(lambda pair: Row(*pair), output_type=AB).rebalance()
    return rows.map(lambda row: f"{row.a} {row['b']} {row.as_dict()}", output_type=Types.STRING())


@case()
def rows_of_a_source_have_names(env):
    rows = env.from_collection([Row(1, "x"), Row(2, "y")], type_info=AB)
    return rows.map(lambda row: f"{row.a} {row.b}", output_type=Types.STRING())


@case(sorts=True, batches=True)
def rows_as_keyed_records(env):
    rows = env.from_collection([(1, "x"), (2, "x")]).map(lambda pair: Row(b=pair[1], a=pair[0]), output_type=AB)
    return rows.key_by(lambda row: row.b, key_type=Types.STRING()).map(lambda row: f"{row.a} {row.b}", Types.STRING())


# --- what functions may return


class Returns(datastream.ProcessFunction):
    def __init__(self, made):
        self.made = made

    def process_element(self, value, ctx):
        return self.made(value)


class Emits(datastream.FlatMapFunction):
    def __init__(self, made):
        self.made = made

    def flat_map(self, value):
        return self.made(value)


RETURNED = {
    "a list": lambda n: [n, n + 1],
    "a tuple": lambda n: (n, n + 1),
    "a set": lambda n: {n},
    "a range": lambda n: range(n),
    "a dict": lambda n: {n: "a"},
    "a map object": lambda n: map(abs, [n, -n]),
    "a generator": lambda n: (each for each in [n, n]),
    "an iterator": lambda n: iter([n]),
    "an empty list": lambda n: [],
    "nothing": lambda n: None,
    "a number": lambda n: n,
    "a text": lambda n: "ab",
    "bytes": lambda n: b"ab",
    "a row": lambda n: Row(n, n),
}


def add_returned(name, made):
    @case(name=f"flat_map returns {name}", alone=True)
    def _(env):
        return env.from_collection([1, 2]).flat_map(Emits(made))

    @case(name=f"process returns {name}", alone=True)
    def _(env):
        return env.from_collection([1, 2]).process(Returns(made))


for name, made in RETURNED.items():
    add_returned(name, made)


@case()
def map_returns_a_generator_of_a_list(env):
    return env.from_collection([[3, 1]]).map(lambda each: sorted(each), Types.LIST(Types.INT()))


class Echo(datastream.ProcessFunction):
    def process_element(self, value, ctx):
        yield value


UNDECLARED = {
    "tuples": [("a", 1), ("b", (2, None))],
    "lists": [[1, "a"], []],
    "dicts": [{"a": 1}, {}],
    "rows": [Row(1, "a"), Row(a=1, b="x")],
    "rows of kinds": [Row.of_kind(kind, 1) for kind in RowKind],
    "numbers": [1, -1, 2**70, 1.5, 1e10, float("inf")],
    "texts": ["a", "", "it's", "ä"],
    "bytes": [b"a", b"\xff"],
    "bools": [True, False],
    "dates": [NOON, NOON.date(), NOON.time(), dt.timedelta(1)],
    "decimals": [Decimal("1.50")],
    "sets": [{1}, frozenset({2})],
    "classes of one's own": [Point(1)],
    "instants": [Instant(1, 5)],
    "kinds": [RowKind.DELETE],
}


def add_undeclared(name, values):
    @case(name=f"undeclared: {name}")
    def _(env):
        return env.from_collection(values)

    @case(name=f"undeclared, processed: {name}")
    def _(env):
        return env.from_collection(values).process(Echo())


for name, values in UNDECLARED.items():
    add_undeclared(name, values)


@case(sorts=True)
def union_of_other_types(env):
    numbers = env.from_collection([1], type_info=Types.INT())
    return numbers.union(numbers.map(lambda n: n + 1, Types.INT()), env.from_collection([7], type_info=Types.INT()))


@case(sorts=True)
def union_of_undeclared(env):
    return env.from_collection([(1, "a")]).union(env.from_collection(["x"]))


@case(alone=True)
def union_of_two_types(env):
    return env.from_collection([1], type_info=Types.INT()).union(env.from_collection(["x"], type_info=Types.STRING()))


@case(sorts=True)
def union_with_itself(env):
    numbers = env.from_collection([1, 2], type_info=Types.INT())
    return numbers.union(numbers.filter(lambda n: n > 1))


@case()
def an_empty_collection(env):
    return env.from_collection([], type_info=Types.INT()).map(lambda n: n, Types.INT())


@case(alone=True)
def an_empty_collection_without_a_type(env):
    return env.from_collection([])


@case()
def chains_and_names(env):
    numbers = env.from_collection([1, 2], type_info=Types.INT()).map(lambda n: n, Types.INT())
    numbers = numbers.name("one").uid("chains-one").start_new_chain().set_description("first")
    numbers = numbers.map(lambda n: n, Types.INT()).disable_chaining().set_max_parallelism(7)
    return numbers.map(lambda n: n + 1, Types.INT()).slot_sharing_group("default").set_buffer_timeout(5)


@case(alone=True)
def names_of_streams(env):
    numbers = env.from_collection([1], type_info=Types.INT())
    mapped = numbers.map(lambda n: n, Types.INT())
    named = mapped.name("mine")
    return [
        mapped.get_name(),
        named.get_name(),
        numbers.filter(lambda n: n).get_name(),
        numbers.get_type() == Types.INT(),
    ]


@case(sorts=True)
def numbers_of_a_sequence(env):
    sequences = importlib.import_module(f"{ROOT}.datastream.connectors.number_seq")
    source = sequences.NumberSequenceSource(1, 4)
    return env.from_source(source, common.WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())


@case(sorts=True)
def numbers_of_a_sequence_without_a_type(env):
    sequences = importlib.import_module(f"{ROOT}.datastream.connectors.number_seq")
    source = sequences.NumberSequenceSource(1, 4)
    return env.from_source(source, common.WatermarkStrategy.no_watermarks(), "numbers").map(
        lambda n: n * 2, Types.LONG()
    )


@case(sorts=True)
def project_a_row(env):
    return env.from_collection(
        [Row(1, "a", 2.5)], type_info=Types.ROW([Types.INT(), Types.STRING(), Types.DOUBLE()])
    ).project(2, 0)


@case(alone=True)
def project_a_place_that_is_not_there(env):
    return env.from_collection([(1, "a")], type_info=Types.TUPLE([Types.INT(), Types.STRING()])).project(2)


@case()
def forward_to_the_same(env):
    return env.from_collection([1, 2], type_info=Types.INT()).forward().map(lambda n: n, Types.INT())


@case()
def force_non_parallel(env):
    return env.from_collection([1, 2], type_info=Types.INT()).map(lambda n: n, Types.INT()).force_non_parallel()


class Knows(datastream.MapFunction):
    def open(self, runtime_context):
        self.context = runtime_context

    def map(self, value):
        context = self.context
        return str([
            context.get_number_of_parallel_subtasks(), context.get_index_of_this_subtask(), context.get_attempt_number(),
            context.get_max_number_of_parallel_subtasks(), context.get_job_parameter("none", "default"),
        ])  # fmt: skip


@case()
def what_the_runtime_context_knows(env):
    return env.from_collection([1]).map(Knows(), Types.STRING())


@case(alone=True)
def names_in_the_runtime_context(env):
    class Named(datastream.MapFunction):
        def open(self, runtime_context):
            self.names = [runtime_context.get_task_name(), runtime_context.get_task_name_with_subtasks()]

        def map(self, value):
            return str(self.names)

    return env.from_collection([1]).map(Named(), Types.STRING()).name("mine")


@case(alone=True)
def open_that_fails(env):
    class Fails(datastream.MapFunction):
        def open(self, runtime_context):
            raise ValueError("not open")

        def map(self, value):
            return value

    return env.from_collection([1]).map(Fails(), Types.INT())


@case(alone=True)
def close_that_fails(env):
    class Fails(datastream.MapFunction):
        def close(self):
            raise ValueError("not closed")

        def map(self, value):
            return value

    return env.from_collection([1]).map(Fails(), Types.INT())


@case(alone=True)
def open_and_close_are_called(env):
    class Notes(datastream.FlatMapFunction):
        def __init__(self, path):
            self.path = path

        def note(self, text):
            with open(self.path, "a") as file:
                file.write(text)

        def open(self, runtime_context):
            self.note("open")

        def flat_map(self, value):
            self.note(f" {value}")
            yield value

        def close(self):
            self.note(" close")

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "notes")
        env.from_collection([1, 2]).flat_map(Notes(path)).print()
        env.execute()
        with open(path) as file:
            return [file.read()]


@case(alone=True)
def a_job_of_nothing(env):
    env.execute()
    return []


@case(alone=True)
def what_execute_returns(env):
    env.from_collection([1]).print()
    result = env.execute("named")
    return [result.get_net_runtime() >= 0, result.is_job_execution_result(), result.get_all_accumulator_results()]


@case(alone=True)
def what_is_no_function(env):
    return env.from_collection([1]).map(5)


@case(alone=True)
def a_type_that_is_none(env):
    return env.from_collection([1]).map(lambda n: n, output_type="int")
