"""Joins of two DataFrames: which rows match, how the planner chooses the kind, and what is refused."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate import dataframe as pf
from headgate.common import Row
from headgate.dataframe.planner.logical import Join, JoinKind, Relation, inputs_of
from headgate.dataframe.planner.optimizer import optimized
from headgate.errors import UnsupportedError
from headgate.table.expressions import rand
from tests.sample_size import sample_size

EPOCH: Final = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
SECOND: Final = dt.timedelta(seconds=1)
HOWS: Final = ["inner", "left", "right", "full", "semi", "anti"]
NAN: Final = float("nan")
col = pf.col


def at(seconds: float) -> dt.datetime:
    return EPOCH + seconds * SECOND


def timed(name: str, rows: Iterable[tuple[float, Any, int]], key: str, number: str) -> pf.DataFrame:
    """Return a DataFrame of times in seconds, keys and numbers, whose watermark waits for any order."""
    seconds, keys, numbers = zip(*rows, strict=True)
    frame = pf.from_dict({name: [at(own) for own in seconds], key: list(keys), number: list(numbers)})
    return frame.with_watermark(name, 1000 * SECOND)


def joins_of(frame: pf.DataFrame) -> list[Join]:
    def walk(plan: Relation) -> list[Join]:
        own = [plan] if isinstance(plan, Join) else []
        return own + [join for below in inputs_of(plan) for join in walk(below)]

    return walk(optimized(frame._plan))


def bag(frame: pf.DataFrame, *names: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in (frame.select(*names) if names else frame).collect())


# --- keys


def test_a_shared_key_is_once_in_the_result() -> None:
    left = pf.from_dict({"k": [1, 2, None], "a": [10, 20, 30]})
    right = pf.from_dict({"b": ["x", "y", "z"], "k": [1, 1, None]})
    joined = left.join(right, on="k")
    assert joined.columns == ["k", "a", "b"]
    assert bag(joined) == Counter([(1, 10, "x"), (1, 10, "y")])
    assert bag(left.join(right.rename("k", "j"), left_on="k", right_on="j"), "k", "j", "b") == Counter(
        [(1, 1, "x"), (1, 1, "y")]
    )


@pytest.mark.parametrize(
    ("left", "right", "pairs"),
    [
        ([None, 1], [None, 1], 1),
        ([0.0, -0.0], [0.0], 2),
        ([NAN], [NAN, None], 1),
        (["a", "b"], ["b"], 1),
        ([b"a"], [b"a"], 1),
        ([True, False], [True], 1),
        ([dt.date(2024, 1, 1)], [dt.date(2024, 1, 1)], 1),
        ([EPOCH], [EPOCH, EPOCH + SECOND], 1),
    ],
)
def test_keys_are_equal_as_in_sql(left: list[Any], right: list[Any], pairs: int) -> None:
    one = pf.from_dict({"k": left, "a": list(range(len(left)))})
    other = pf.from_dict({"k": right, "b": list(range(len(right)))})
    assert len(one.join(other, on="k").collect()) == pairs
    assert len(one.join(other.rename("k", "j"), on=col("k") == col("j")).collect()) == pairs


def test_keys_of_several_types_are_compared_in_their_common_type() -> None:
    left = pf.from_dict({"k": [1, 2], "a": [1, 2]}).with_column("k", col("k").cast("INT"))
    right = pf.from_dict({"j": [1.0, 2.5], "b": [1, 2]})
    assert bag(left.join(right, left_on="k", right_on="j")) == Counter([(1, 1, 1.0, 1)])
    wide = pf.from_dict({"k": [2, 3], "b": [5, 6]})
    assert bag(left.join(wide, on="k")) == Counter([(2, 2, 5)])
    with pytest.raises(ValueError, match="equals"):
        left.join(pf.from_dict({"k": [b"1"], "b": [1]}), on="k")


def test_expressions_are_keys_and_conditions() -> None:
    left = pf.from_dict({"a": ["Tea", "RUG"], "n": [1, 5]})
    right = pf.from_dict({"b": ["tea", "rug"], "m": [3, 3]})
    by_key = left.join(right, left_on=col("a").lower_case, right_on=col("b"))
    assert bag(by_key, "a", "b") == Counter([("Tea", "tea"), ("RUG", "rug")])
    both = left.join(right, on=(col("a").lower_case == col("b")) & (col("n") < col("m")))
    assert bag(both, "a", "b") == Counter([("Tea", "tea")])
    assert [join.keys for join in joins_of(both)] == [1]
    larger = left.join(right, on=col("n") > col("m"))
    assert bag(larger, "a", "b") == Counter([("RUG", "tea"), ("RUG", "rug")])
    every = left.join(right, how="cross")
    assert len(every.collect()) == 4


def test_a_function_of_the_user_is_a_condition() -> None:
    @pf.udf
    def is_near(one: int, other: int) -> bool:
        return abs(one - other) <= 1

    left = timed("ts", [(0, 1, 1), (1, 1, 7)], "k", "n")
    right = timed("at", [(0, 1, 2), (1, 1, 3)], "j", "m")
    within = (col("k") == col("j")) & (col("at").between(col("ts") - pf.lit(5).seconds, col("ts") + pf.lit(5).seconds))
    joined = left.join(right, on=within & is_near(col("n"), col("m")), how="full")
    assert bag(joined, "n", "m") == Counter([(1, 2), (7, None), (None, 3)])


def test_rows_come_out_as_they_went_in() -> None:
    record = {"t": dt.time(1, 2, 3, 4), "list": [1, None], "map": {"k": 1}, "b": b"x", "x": -0.0, "k": 1}
    joined = pf.from_records([record]).join(pf.from_records([{"k": 1, "day": dt.date(1, 1, 1)}]), on="k")
    assert repr(joined.take(5)) == repr([{**record, "day": dt.date(1, 1, 1)}])


# --- what is refused


def test_wrong_arguments_are_refused() -> None:
    left = pf.from_dict({"k": [1], "a": [1]})
    right = pf.from_dict({"k": [1], "b": [1]})
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({}, ValueError, "keys of both sides"),
        ({"on": "k", "left_on": "k"}, ValueError, "given once"),
        ({"left_on": "k"}, ValueError, "both sides"),
        ({"on": []}, ValueError, "at least one"),
        ({"on": ["k", "k"]}, ValueError, "different names"),
        ({"on": "kk"}, ValueError, "did you mean 'k'"),
        ({"left_on": ["k", "a"], "right_on": ["k"]}, ValueError, "equally many"),
        ({"on": "k", "how": "cross"}, ValueError, "no keys"),
        ({"on": "k", "how": "most"}, ValueError, "how is one of"),
        ({"on": "k", "how": 1}, TypeError, "how is a str"),
        ({"on": ("k",)}, TypeError, "a name, a list of names"),
        ({"left_on": "a", "right_on": "b"}, ValueError, "both sides of the join have a column 'k'"),
        ({"on": col("a") == col("b")}, ValueError, "both sides have a column 'k'"),
        ({"on": col("a") + col("b")}, ValueError, "k"),
        ({"how": "cross"}, ValueError, "rename"),
    ]
    for arguments, error, text in cases:
        with pytest.raises(error, match=text):
            left.join(right, **arguments)
    with pytest.raises(TypeError, match="takes a DataFrame"):
        left.join("right", on="k")  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["left", "right", "full", "outer", "semi", "anti"])
def test_a_join_whose_results_change_is_refused_with_advice(how: str) -> None:
    left, right = pf.from_dict({"k": [1], "a": [1]}), pf.from_dict({"k": [1], "b": [1]})
    with pytest.raises(UnsupportedError, match="Bound the event time"):
        left.join(right, on="k", how=how)


def test_an_asynchronous_condition_is_for_inner_joins() -> None:
    @pf.udf
    async def is_near(one: int, other: int) -> bool:
        return abs(one - other) <= 1

    left, right = timed("ts", [(0, 1, 1), (0, 1, 5)], "k", "n"), timed("at", [(0, 1, 2)], "j", "m")
    condition = (col("k") == col("j")) & (col("ts") == col("at")) & is_near(col("n"), col("m"))
    assert bag(left.join(right, on=condition), "n", "m") == Counter([(1, 2)])
    with pytest.raises(UnsupportedError, match="with_column"):
        left.join(right, on=condition, how="left")


# --- the kind of a join


def test_bounds_from_both_ends_make_an_interval_join() -> None:
    left, right = timed("ts", [(0, 1, 1)], "k", "n"), timed("at", [(0, 1, 1)], "j", "m")
    ts, end, second = col("ts"), col("at"), pf.lit(1).seconds
    same = col("k") == col("j")
    for condition, bounds in [
        (end.between(ts - second, ts + second), (-1000, 1000)),
        ((end > ts - second) & (end < ts + second), (-999, 999)),
        ((ts <= end) & (ts + pf.lit(5).seconds > end), (0, 4999)),
        ((ts >= end - second) & (end + second >= ts), (-1000, 1000)),
        (ts == end, (0, 0)),
        ((ts == end + second), (-1000, -1000)),
        ((end >= ts) & (end <= ts + second) & (end <= ts + pf.lit(500).millis), (0, 500)),
    ]:
        (join,) = joins_of(left.join(right, on=same & condition, how="full"))
        assert (join.kind, join.keys, join.lower_ms, join.upper_ms) == (JoinKind.INTERVAL, 1, *bounds)
    for condition in (end >= ts, (end >= ts) & (col("n") < 5), (col("m") >= col("n")) & (col("m") <= col("n"))):
        (join,) = joins_of(left.join(right, on=same & condition))
        assert join.kind is JoinKind.REGULAR
    plain = right.with_column("at", end + second)
    (join,) = joins_of(left.join(plain, on=same & end.between(ts, ts + second)))
    assert join.kind is JoinKind.REGULAR


def test_equal_windows_make_a_window_join() -> None:
    left, right = timed("ts", [(0, 1, 1)], "k", "n"), timed("at", [(0, 1, 1)], "k", "m")
    names = ["window_start", "window_end", "window_time", "k"]
    one = left.tumble(on="ts", size=5 * SECOND)
    for other in (
        right.tumble(on="at", size=5 * SECOND),
        right.hop(on="at", slide=SECOND, size=5 * SECOND),
        right.cumulate(on="at", step=SECOND, size=5 * SECOND),
        right.tumble(on="at", size=5 * SECOND).group_by(*names).agg(most=col("m").max),
    ):
        (join,) = joins_of(one.join(other, on=names, how="anti"))
        assert (join.kind, join.keys) == (JoinKind.WINDOW, 4)
    starts = right.tumble(on="at", size=5 * SECOND).drop("window_end", "window_time")
    (join,) = joins_of(one.join(starts, on=["window_start", "k"]))
    assert join.kind is JoinKind.REGULAR


def test_filters_move_to_the_inputs_whose_rows_they_drop() -> None:
    left, right = timed("ts", [(0, 1, 1)], "k", "n"), timed("at", [(0, 1, 1)], "j", "m")
    condition = (col("k") == col("j")) & (col("ts") == col("at"))
    filters = "(n > 3) AND (m > 4)"
    for how, counts in [("inner", (1, 1)), ("left", (1, 0)), ("right", (0, 1)), ("full", (0, 0))]:
        (join,) = joins_of(left.join(right, on=condition, how=how).filter(filters))
        plans = [pf.DataFrame(side, left._environment).explain() for side in (join.left, join.right)]
        assert tuple(plan.count("Filter [greater") // 2 for plan in plans) == counts, how


def test_columns_that_nothing_reads_are_not_kept() -> None:
    left = pf.from_dict({"k": [1], "a": [1], "b": [2]})
    right = pf.from_dict({"k": [1], "c": [1], "d": [2]})
    joined = left.join(right, on="k").select("b")
    (join,) = joins_of(joined)
    assert join.schema.names == ["l2"]
    assert joined.collect() == [Row(b=2)]


# --- results


ROWS: Final = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from([1, 2, 3, None]), st.integers(0, 9)), min_size=1, max_size=25
)


def expected(how: str, left: list[Any], right: list[Any], is_match: Any) -> Counter[Any]:
    pairs = [(one, other) for one in left for other in right if is_match(one, other)]
    matched_left = [one for one in left if any(is_match(one, other) for other in right)]
    alone_left = [one for one in left if one not in matched_left]
    alone_right = [other for other in right if not any(is_match(one, other) for one in left)]
    if how in ("semi", "anti"):
        return Counter((one, None) for one in (matched_left if how == "semi" else alone_left))
    found = Counter(pairs)
    if how in ("left", "full"):
        found.update((one, None) for one in alone_left)
    if how in ("right", "full"):
        found.update((None, other) for other in alone_right)
    return found


def pairs_of(frame: pf.DataFrame) -> Counter[Any]:
    def part(row: dict[str, Any], *names: str) -> Any:
        if row.get(names[0]) is None:
            return None
        second = (row[names[0]].replace(tzinfo=dt.UTC) - EPOCH) // SECOND
        return (second, row[names[1]], row[names[2]])

    return Counter((part(row, "ts", "k", "n"), part(row, "at", "j", "m")) for row in frame.take(10**6))


def run_in(environment: Any, mode: str, parallelism: int) -> None:
    config = environment.get_config()
    config.set("execution.runtime-mode", mode).set("parallelism.default", str(parallelism))
    config.set("headgate.batch.records", "4")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@settings(
    max_examples=sample_size(60, at_most=12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    left=ROWS,
    right=ROWS,
    how=st.sampled_from(HOWS),
    bounds=st.tuples(st.integers(-5, 5), st.integers(-5, 5)).map(sorted),
    with_rest=st.booleans(),
    parallelism=st.integers(1, 3),
)
def test_interval_joins_find_what_a_nested_loop_finds(  # noqa: PLR0913  # an example's parts
    environment: Any,
    mode: str,
    left: list[Any],
    right: list[Any],
    how: str,
    bounds: list[int],
    with_rest: bool,
    parallelism: int,
) -> None:
    run_in(environment, mode, parallelism)
    lower, upper = bounds
    one, other = timed("ts", left, "k", "n"), timed("at", right, "j", "m")
    ts = col("ts")
    condition = (col("k") == col("j")) & col("at").between(ts + pf.lit(lower).seconds, ts + pf.lit(upper).seconds)
    if with_rest:
        condition = condition & (col("n") <= col("m"))

    def is_match(one: Any, other: Any) -> bool:
        keys = one[1] is not None and one[1] == other[1]
        return keys and lower <= other[0] - one[0] <= upper and (not with_rest or one[2] <= other[2])

    assert pairs_of(one.join(other, on=condition, how=how)) == expected(how, left, right, is_match)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@settings(
    max_examples=sample_size(40, at_most=10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(left=ROWS, right=ROWS, how=st.sampled_from(HOWS), parallelism=st.integers(1, 3))
def test_window_joins_find_what_a_nested_loop_finds(  # noqa: PLR0913  # an example's parts
    environment: Any, mode: str, left: list[Any], right: list[Any], how: str, parallelism: int
) -> None:
    run_in(environment, mode, parallelism)
    one = timed("ts", left, "k", "n").tumble(on="ts", size=5 * SECOND)
    other = timed("at", right, "j", "m").tumble(on="at", size=5 * SECOND)
    names = ["window_start", "window_end", "window_time"]
    joined = one.join(other, left_on=[*names, "k"], right_on=[*names, "j"], how=how)

    def is_match(one: Any, other: Any) -> bool:
        return one[1] is not None and one[1] == other[1] and one[0] // 5 == other[0] // 5

    assert pairs_of(joined) == expected(how, left, right, is_match)


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_regular_joins_find_all_pairs(environment: Any, mode: str) -> None:
    run_in(environment, mode, 3)
    left = [(number, number % 7 or None, number % 3) for number in range(60)]
    right = [(number, number % 5, number % 4) for number in range(40)]
    one, other = timed("ts", left, "k", "n"), timed("at", right, "j", "m")
    joined = one.join(other, on=(col("k") == col("j")) & (col("n") < col("m")))
    wanted = expected("inner", left, right, lambda a, b: a[1] is not None and a[1] == b[1] and a[2] < b[2])
    assert pairs_of(joined) == wanted


# --- event time after a join


@pytest.mark.parametrize("how", ["inner", "left"])
def test_windows_follow_an_interval_join(environment: Any, how: str) -> None:
    run_in(environment, "STREAMING", 2)
    left = pf.from_dict({"ts": [at(number) for number in range(90)], "k": [number % 3 for number in range(90)]})
    right = pf.from_dict({"at": [at(number + 4) for number in range(0, 90, 2)], "j": [0] * 45}).with_watermark("at")
    ts = col("ts")
    joined = left.with_watermark("ts").join(
        right, on=(col("k") == col("j")) & col("at").between(ts, ts + pf.lit(9).seconds), how=how
    )
    windows = joined.tumble(on="ts", size=30 * SECOND).group_by("window_start", "window_end").agg(n=pf.lit(1).count)
    wanted: Counter[int] = Counter()
    for number in range(90):
        matches = sum(1 for other in range(4, 94, 2) if number % 3 == 0 and number <= other <= number + 9)
        wanted[number // 30] += max(matches, how == "left")
    found = {(row.window_start.replace(tzinfo=dt.UTC) - EPOCH) // (30 * SECOND): row.n for row in windows.collect()}
    assert found == +wanted


def test_windows_follow_a_window_join(environment: Any) -> None:
    run_in(environment, "STREAMING", 2)
    rows = [(number, number % 3, number) for number in range(100)]
    names = ["window_start", "window_end", "window_time", "k"]
    one = timed("ts", rows, "k", "n").tumble(on="ts", size=10 * SECOND)
    most = one.group_by(*names).agg(most=col("n").max)
    latest = one.join(most, on=names).filter("n = most").drop("window_start", "window_end")
    counts = latest.tumble(on="window_time", size=50 * SECOND).group_by("window_start", "window_end")
    assert [row.n for row in counts.agg(n=pf.lit(1).count).collect()] == [15, 15]
    with pytest.raises(TypeError, match="event time"):
        latest.tumble(on="ts", size=SECOND)


def test_a_regular_join_ends_event_time() -> None:
    left, right = timed("ts", [(0, 1, 1)], "k", "n"), timed("at", [(0, 1, 1)], "k", "m")
    with pytest.raises(TypeError, match="event time"):
        left.join(right, on="k").tumble(on="ts", size=SECOND)


def test_a_null_event_time_is_named() -> None:
    left = pf.from_dict({"ts": [at(0), None], "k": [1, 1]}).with_watermark("ts")
    right = timed("at", [(0, 1, 1)], "j", "m")
    with pytest.raises(Exception, match="event time of a row is NULL"):
        left.join(right, on=(col("k") == col("j")) & (col("ts") == col("at"))).collect()


# --- as-of joins


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@settings(
    max_examples=sample_size(40, at_most=10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(left=ROWS, right=ROWS, how=st.sampled_from(["inner", "left"]), parallelism=st.integers(1, 3))
def test_as_of_joins_find_the_latest_row(  # noqa: PLR0913  # an example's parts
    environment: Any, mode: str, left: list[Any], right: list[Any], how: str, parallelism: int
) -> None:
    run_in(environment, mode, parallelism)
    right = list({(second, key): (second, key, number) for second, key, number in right}.values())
    one, other = timed("ts", left, "k", "n"), timed("at", right, "j", "m")
    wanted: Counter[Any] = Counter()
    for row in left:
        found = [own for own in right if own[1] is not None and own[1] == row[1] and own[0] <= row[0]]
        if found or how == "left":
            wanted[row, max(found, default=None)] += 1
    assert pairs_of(one.join_asof(other, on="ts", left_by="k", right_by="j", how=how)) == wanted


def test_the_event_time_of_the_left_side_remains_after_an_as_of_join() -> None:
    orders = timed("ts", [(1, "eur", 1), (7, "eur", 2)], "coin", "n")
    rates = timed("since", [(0, "eur", 10), (5, "eur", 11)], "coin", "rate")
    joined = orders.join_asof(rates, on="ts", by="coin")
    assert joined.columns == ["ts", "coin", "n", "since", "rate"]
    windows = joined.tumble(on="ts", size=5 * SECOND).group_by("window_start", "window_end").agg(top=col("rate").max)
    assert [row.top for row in windows.collect()] == [10, 11]


def test_wrong_arguments_of_an_as_of_join_are_refused() -> None:
    left, right = timed("ts", [(0, 1, 1)], "k", "n"), timed("at", [(0, 1, 1)], "k", "m")
    cases: list[tuple[pf.DataFrame, dict[str, Any], type[Exception], str]] = [
        (right, {"on": "n", "by": "k"}, ValueError, "with_watermark"),
        (right, {"on": 1, "by": "k"}, TypeError, "event time"),
        (right, {"on": "ts"}, ValueError, "keys of both sides"),
        (right, {"on": "ts", "by": "k", "how": "full"}, ValueError, "'inner' or 'left'"),
        (pf.from_dict({"k": [1], "m": [1]}), {"on": "ts", "by": "k"}, ValueError, "has no event time"),
    ]
    for other, arguments, error, text in cases:
        with pytest.raises(error, match=text):
            left.join_asof(other, **arguments)


def test_a_join_without_keys_has_all_pairs_whichever_columns_are_read() -> None:
    left, right = pf.from_dict({"a": [1, 2]}), pf.from_dict({"b": [10, 20, 30]})
    pairs = left.join(right, how="cross")
    assert bag(pairs, "a") == Counter({(1,): 3, (2,): 3})
    assert bag(pairs, "b") == Counter({(10,): 2, (20,): 2, (30,): 2})
    assert len(pairs.select(one=pf.lit(1)).collect()) == 6


def test_a_choice_of_true_is_no_conjunction() -> None:
    left = pf.from_dict({"a": [True, True, False], "b": [True, False, True]})
    a, b = col("a"), col("b")
    either = (a & pf.lit(True)).then(pf.lit(True), a & b)
    assert bag(left.join(pf.from_dict({"z": [1]}), how="cross").filter(either), "a", "b", "z") == Counter(
        [(True, True, 1), (True, False, 1)]
    )


def test_a_filter_that_is_not_deterministic_decides_about_each_pair() -> None:
    left = pf.from_dict({"k": [1] * 50, "a": list(range(50))})
    right = pf.from_dict({"k": [1] * 50, "b": list(range(50))})
    kept = left.join(right, on="k").filter(col("a") * 0 + rand() < 0.5)
    counts = Counter(row.a for row in kept.collect())
    assert set(counts) == set(range(50))  # each is left out of all 50 pairs with probability 2 ** -50
    assert max(counts.values()) < 50
