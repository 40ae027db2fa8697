"""Set operations: which rows remain, how often, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate import dataframe as pf
from headgate.errors import UnsupportedError
from tests.sample_size import sample_size

NAN: Final = float("nan")
ROWS: Final = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2)), min_size=1, max_size=20)


def frame_of(rows: list[tuple[Any, int]]) -> pf.DataFrame:
    return pf.from_records([{"k": "a", "n": -1}, *({"k": k, "n": n} for k, n in rows)]).filter("n >= 0")


def bag(frame: pf.DataFrame) -> Counter[Any]:
    return Counter(tuple(row) for row in frame.collect())


@pytest.mark.slow
@settings(
    max_examples=sample_size(60, at_most=12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(left=ROWS, right=ROWS, parallelism=st.integers(1, 3))
def test_set_operations_count_as_bags_do(environment: Any, left: list[Any], right: list[Any], parallelism: int) -> None:
    config = environment.get_config()
    config.set("execution.runtime-mode", "BATCH").set("parallelism.default", str(parallelism))
    config.set("headgate.batch.records", "4")
    one, other, lefts, rights = frame_of(left), frame_of(right), Counter(left), Counter(right)
    assert bag(one.union_all(other)) == lefts + rights
    assert bag(one.union(other)) == Counter(set(left) | set(right))
    assert bag(one.intersect(other)) == Counter(set(left) & set(right))
    assert bag(one.intersect_all(other)) == lefts & rights
    assert bag(one.minus(other)) == Counter(set(left) - set(right))
    assert bag(one.minus_all(other)) == lefts - rights


def test_a_union_is_for_streams_too() -> None:
    one, other = pf.from_dict({"x": [NAN, 0.0, None]}), pf.from_dict({"y": [NAN, -0.0, None, 1.0]})
    united = one.union(other)
    assert united.columns == ["x"]
    assert sorted(repr(None if row.x is None else abs(row.x)) for row in united.collect()) == [
        "0.0",
        "1.0",
        "None",
        "nan",
    ]


def test_types_are_made_equal(environment: Any) -> None:
    environment.get_config().set("execution.runtime-mode", "BATCH")
    small = pf.range(3).select(n=pf.col("id").cast("INT"))
    common = small.intersect(pf.range(1, 5))
    assert str(common.schema.type_of("n")) == "BIGINT NOT NULL"
    assert bag(common) == Counter([(1,), (2,)])


def test_wrong_arguments_are_refused(environment: Any) -> None:
    one = pf.from_dict({"k": [1]})
    for method in ("intersect", "intersect_all", "minus", "minus_all"):
        with pytest.raises(UnsupportedError, match="BATCH"):
            getattr(one, method)(one)
    environment.get_config().set("execution.runtime-mode", "BATCH")
    for method in ("union", "union_all", "intersect", "intersect_all", "minus", "minus_all"):
        with pytest.raises(TypeError, match=f"{method}.. takes a DataFrame"):
            getattr(one, method)(1)
        with pytest.raises(ValueError, match="equally many columns"):
            getattr(one, method)(pf.from_dict({"k": [1], "n": [1]}))
        with pytest.raises(ValueError, match="STRING"):
            getattr(one, method)(pf.from_dict({"k": ["a"]}))
    listed = pf.from_dict({"k": [[1]]})
    with pytest.raises(ValueError, match="cannot be compared"):
        listed.minus(listed)
