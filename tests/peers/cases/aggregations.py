# ruff: noqa
# mypy: ignore-errors
"""Aggregations and `reduce`. Run after `base.py`, in the same namespace."""


@case(sorts=True, batches=True)
def sum_of_tuples(env):
    return by_key(env).sum(1)


@case(sorts=True, batches=True)
def sum_of_rows_by_name(env):
    return by_key(env, NAMED).sum("v")


@case(sorts=True, batches=True)
def sum_of_texts(env):
    return by_key(env, Types.TUPLE([Types.STRING(), Types.STRING()]), [("a", "x"), ("a", "y"), ("b", "z")]).sum(1)


@case(sorts=True, batches=True)
def min_of_tuples(env):
    return by_key(env).min(1)


@case(sorts=True, batches=True)
def max_of_rows(env):
    return by_key(env, NAMED).max("v")


@case(sorts=True, batches=True)
def min_by_of_tuples(env):
    return by_key(env).min_by(1)


@case(sorts=True, batches=True)
def max_by_of_rows_by_name(env):
    return by_key(env, NAMED).max_by("v")


@case(sorts=True, batches=True)
def sum_of_plain_values(env):
    return env.from_collection([1, 2, 3, 4], type_info=Types.INT()).key_by(lambda n: n % 2, key_type=Types.INT()).sum()


@case(sorts=True, batches=True)
def reduce_by_key(env):
    return by_key(env).reduce(lambda one, other: (one[0], one[1] + other[1]))


@case(sorts=True, batches=True)
def reduce_that_makes_floats(env):
    return by_key(env).reduce(lambda one, other: (one[0], one[1] + other[1] + 0.5))


class Joined(datastream.ReduceFunction):
    def reduce(self, value1, value2):
        return Row(value1.k, value1.v * 10 + value2.v)


@case(sorts=True)
def reduce_of_rows(env):
    return by_key(env, NAMED).reduce(Joined())


@case(sorts=True, batches=True)
def min_by_of_ties(env):
    return by_key(
        env, Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()]), [("a", 1, 1), ("a", 1, 2), ("a", 0, 3)]
    ).min_by(1)


@case(sorts=True, batches=True)
def max_by_of_ties(env):
    return by_key(
        env, Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()]), [("a", 1, 1), ("a", 1, 2), ("a", 2, 3)]
    ).max_by(1)


@case(sorts=True)
def min_of_texts(env):
    return by_key(env, Types.TUPLE([Types.STRING(), Types.STRING()]), [("a", "y"), ("a", "x"), ("b", "z")]).min(1)


@case(sorts=True)
def sum_of_doubles(env):
    return by_key(env, Types.TUPLE([Types.STRING(), Types.DOUBLE()]), [("a", 0.1), ("a", 0.2), ("b", 1.0)]).sum(1)


@case(sorts=True)
def sum_of_undeclared_tuples(env):
    return env.from_collection(PAIRS).key_by(lambda pair: pair[0]).sum(1)


@case(sorts=True)
def max_of_undeclared_rows(env):
    return env.from_collection([Row(1, 2), Row(1, 3), Row(2, 1)]).key_by(lambda row: row[0]).max(1)


@case(sorts=True)
def min_of_plain_values(env):
    return env.from_collection([3, 1, 2], type_info=Types.INT()).key_by(lambda n: 0, key_type=Types.INT()).min()


@case(sorts=True)
def max_by_of_plain_values(env):
    return env.from_collection([3, 4, 2], type_info=Types.INT()).key_by(lambda n: 0, key_type=Types.INT()).max_by()


@case(alone=True)
def sum_of_a_name_in_tuples(env):
    return by_key(env).sum("v")


@case(alone=True)
def sum_of_a_place_that_is_not_there(env):
    return by_key(env).sum(5)


@case(alone=True)
def sum_of_dicts(env):
    return env.from_collection([{"k": "a", "v": 1}, {"k": "a", "v": 2}]).key_by(lambda each: each["k"]).sum("v")


@case(sorts=True)
def sum_and_then_a_map(env):
    return by_key(env).sum(1).map(lambda pair: f"{pair[0]}={pair[1]}", Types.STRING())


@case(sorts=True)
def reduce_of_undeclared(env):
    return (
        env.from_collection(PAIRS).key_by(lambda pair: pair[0]).reduce(lambda one, other: (one[0], one[1] + other[1]))
    )


@case(sorts=True, batches=True)
def reduce_twice(env):
    sums = by_key(env).reduce(lambda one, other: (one[0], one[1] + other[1]))
    return sums.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda one, other: (one[0], max(one[1], other[1])))


@case(sorts=True)
def keyed_filter_map_flat_map(env):
    kept = by_key(env).filter(lambda pair: pair[1] > 1)
    mapped = kept.key_by(lambda pair: pair[0]).map(lambda pair: pair[1] * 2, Types.INT())
    return mapped.key_by(lambda n: n).flat_map(lambda n: [n, -n], Types.INT())
