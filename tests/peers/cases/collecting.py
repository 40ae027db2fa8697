# ruff: noqa
# mypy: ignore-errors
"""Collecting, errors, plans. Run after `base.py`, in the same namespace."""


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


def collected(env, stream):
    with stream.execute_and_collect() as records:
        return list(records)


COLLECTED = ["string", "boolean", "long", "float", "double", "big decimal", "date", "time", "timestamp", "list of ints", "map",
             "tuple", "tuple in a tuple", "row by position", "row with null", "row of kinds", "row in a row", "list of tuples",
             "pickled", "instant", "row of dates", "row of nulls"]  # fmt: skip


def add_collected(name, type_info, values):
    @case(name=f"collect: {name}", alone=True)
    def _(env):
        return collected(env, env.from_collection(values).map(lambda value: value, output_type=type_info))


for name in COLLECTED:
    add_collected(name, *VALUES[name])


def add_undeclared_collected(name, values):
    @case(name=f"collect, undeclared: {name}", alone=True)
    def _(env):
        return collected(env, env.from_collection(values))


for name in ("tuples", "lists", "dicts", "rows", "numbers", "texts", "dates"):
    add_undeclared_collected(name, UNDECLARED[name])


@case(alone=True)
def collect_a_sum(env):
    return sorted(collected(env, by_key(env).sum(1)))


@case(alone=True)
def collect_one_by_one(env):
    records = env.from_collection([1, 2], type_info=Types.INT()).execute_and_collect("named")
    first = next(records)
    records.close()
    return [first]


@case(alone=True)
def collect_nothing(env):
    return collected(env, env.from_collection([1], type_info=Types.INT()).filter(lambda n: n > 1))


@case(alone=True)
def collect_twice(env):
    numbers = env.from_collection([1], type_info=Types.INT())
    return [collected(env, numbers), collected(env, numbers.map(lambda n: n + 1, Types.INT()))]
