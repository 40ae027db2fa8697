"""Columns, predicates, unions and missing values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headgate import dataframe as pf
from headgate.columns.logical_types import BIGINT, DOUBLE
from headgate.common import Row
from headgate.table.expressions import row
from headgate.table.table_environment import EnvironmentSettings, TableEnvironment


@pytest.fixture
def frame() -> pf.DataFrame:
    return pf.from_records(
        [{"id": 1, "x": 0.5, "s": "a"}, {"id": 2, "x": None, "s": None}, {"id": 3, "x": 2.5, "s": "c"}]
    )


def rows(frame: pf.DataFrame) -> list[list[Any]]:
    return [list(row) for row in frame.collect()]


def test_select_takes_names_expressions_lists_and_keywords(frame: pf.DataFrame) -> None:
    with pytest.raises(ValueError, match="'id'"):
        frame.select("id", pf.col("id"))
    made = frame.select("s", [pf.col("x") * 2], half=pf.col("x") / 2)
    assert made.columns == ["s", "_c0", "half"]
    assert rows(made) == [["a", 1.0, 0.25], [None, None, None], ["c", 5.0, 1.25]]


@pytest.mark.parametrize("wrong", [1, None, True, {"a": 1}])
def test_select_refuses_other_arguments(frame: pf.DataFrame, wrong: Any) -> None:
    with pytest.raises(TypeError):
        frame.select(wrong)
    with pytest.raises(TypeError):
        frame.select(own=wrong)


def test_an_unknown_column_names_the_nearest(frame: pf.DataFrame) -> None:
    frame = frame.rename("id", "price")
    for wrong in (lambda: frame.select("pirce"), lambda: frame["pirce"], lambda: frame.filter(pf.col("pirce") > 1)):
        with pytest.raises(ValueError, match=r"'pirce'.*'price'"):
            wrong()


def test_with_column_replaces_in_place_or_appends(frame: pf.DataFrame) -> None:
    changed = frame.with_column("x", pf.col("id") * 10).with_column("y", lambda own: own["x"] + own.id)
    assert changed.columns == ["id", "x", "s", "y"]
    assert rows(changed)[0] == [1, 10, "a", 11]
    with pytest.raises(TypeError):
        frame.with_column("y", int)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        frame.with_column("y", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        frame.with_column(5, pf.col("x"))  # type: ignore[arg-type]


def test_with_columns_refers_to_the_columns_before(frame: pf.DataFrame) -> None:
    swapped = frame.with_columns(pf.col("x").alias("id"), x=pf.col("id"))
    assert rows(swapped)[0] == [0.5, 1, "a"]
    with pytest.raises(TypeError):
        frame.with_columns(pf.col("x") + 1)


def test_drop_and_rename(frame: pf.DataFrame) -> None:
    assert frame.drop("id", pf.col("s")).columns == ["x"]
    assert frame.drop_columns("nope", strict=False) is frame
    with pytest.raises(ValueError, match="'nope'"):
        frame.drop("nope")
    with pytest.raises(ValueError, match="no column"):
        frame.drop("id", "x", "s")
    assert frame.rename({"id": "n", "nope": "m"}).columns == ["n", "x", "s"]
    assert frame.rename(str.upper).columns == ["ID", "X", "S"]
    assert frame.rename("id", "n", "x", "id").columns == ["n", "id", "s"]
    assert frame.rename({"id": "id"}) is frame
    for arguments, error in [(("id",), ValueError), ((5,), TypeError), (("no", "yes"), ValueError), ((), TypeError)]:
        with pytest.raises(error):
            frame.rename(*arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'x'"):
        frame.rename("id", "x")


def test_columns_as_attributes_and_keys(frame: pf.DataFrame) -> None:
    assert rows(frame.select(frame.id + 1, frame["x"])) == [[2, 0.5], [3, None], [4, 2.5]]
    assert frame[["s", "id"]].columns == frame["s", "id"].columns == ["s", "id"]
    assert rows(frame[frame.id == 2]) == [[2, None, None]]
    assert frame.pipe(lambda own, n: own.limit(n), 1).take(9) == [{"id": 1, "x": 0.5, "s": "a"}]
    for name in ("nope", "_id", "class"):
        with pytest.raises(AttributeError):
            getattr(frame, name)
    with pytest.raises(TypeError):
        frame[5]  # type: ignore[index]
    named_filter = frame.rename("id", "filter")
    assert callable(named_filter.filter)  # a method hides the column


def test_an_expression_has_no_truth_value(frame: pf.DataFrame) -> None:
    with pytest.raises(TypeError, match="&"):
        frame.filter(frame.id > 1 and frame.x > 1)


def test_filter_keeps_rows_where_all_predicates_are_true(frame: pf.DataFrame) -> None:
    assert rows(frame.filter(frame.id > 1, frame.x > 1)) == [[3, 2.5, "c"]]
    assert rows(frame.filter("id >= 2 AND x IS NULL")) == [[2, None, None]]
    assert rows(frame.filter(lambda own: own.x < 1)) == [[1, 0.5, "a"]]
    assert rows(frame.where(s="c")) == [[3, 2.5, "c"]]
    assert rows(frame.filter(s=None)) == [[2, None, None]]
    assert rows(frame.filter(~(frame.x > 1))) == [[1, 0.5, "a"]]  # NULL is neither
    with pytest.raises(ValueError, match="at least one"):
        frame.filter()
    with pytest.raises(TypeError):
        frame.filter(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="BOOLEAN"):
        frame.filter(frame.id)


def test_a_failing_expression_is_not_computed_for_rows_that_a_predicate_drops(frame: pf.DataFrame) -> None:
    safe = frame.filter(frame.id != 2).with_column("r", 6 / (frame.id - 2))
    assert rows(safe.select("r")) == [[-6], [6]]
    guarded = frame.filter((frame.id != 2) & (6 / (frame.id - 2) > 0))
    assert rows(guarded.select("id")) == [[3]]
    chosen = frame.select(r=(frame.id == 2).then(0, 6 / (frame.id - 2)))
    assert rows(chosen) == [[-6], [0], [6]]


def test_a_failing_predicate_is_not_computed_for_rows_that_an_earlier_filter_drops() -> None:
    texts = pf.from_dict({"s": ["1", "x", None, "0"]}).filter("s <> 'x'")
    number = pf.col("s").cast("INT")
    assert rows(texts.filter(number > 0)) == [["1"]]
    assert rows(texts.with_column("n", number).filter("n > 0")) == [["1", 1]]


def test_an_and_with_false_is_false_beside_an_and_that_may_fail() -> None:
    frame = pf.from_dict({"yes": [True, False], "text": ["1", "one"]})
    guarded = pf.col("yes") & (pf.col("text").cast("INT") == 1)
    false = pf.col("yes") & pf.lit(False)  # a value, no flag
    assert rows(frame.select(guarded=guarded, false=false)) == [[True, False], [False, False]]


def test_columns_that_read_a_column_twice_do_not_double_the_work_of_the_planner() -> None:
    frame = pf.from_dict({"n": [1, 2]})
    for _ in range(60):
        frame = frame.with_column("n", (pf.col("n") + pf.col("n")) % 7)
    assert rows(frame.filter("n > 0")) == [[2**60 % 7], [2**61 % 7]]


def test_a_failure_names_operator_and_row(frame: pf.DataFrame) -> None:
    with pytest.raises(Exception, match=r"(?s)divided by zero.*'Calc'.*id=2"):
        frame.select("id", r=6 / (frame.id - 2)).collect()


def test_union_all_matches_by_position_and_widens_types(frame: pf.DataFrame) -> None:
    other = pf.from_dict({"a": [1.5], "b": [2]})
    both = frame.select("id", "x").union_all(other)
    assert [own.nulls() for own in both.schema.types] == [DOUBLE, DOUBLE]
    assert both.columns == ["id", "x"]
    assert sorted(rows(both), key=str) == [[1.0, 0.5], [1.5, 2.0], [2.0, None], [3.0, 2.5]]
    for wrong, error in [(5, TypeError), (frame, ValueError), (frame.select("s", "id"), ValueError)]:
        with pytest.raises(error):
            frame.select("id", "x").union_all(wrong)  # type: ignore[arg-type]


def test_frames_of_two_environments_do_not_meet(frame: pf.DataFrame) -> None:
    pf.set_table_environment(TableEnvironment.create(EnvironmentSettings.in_streaming_mode()))
    other = pf.range(1)
    with pytest.raises(ValueError, match="environment"):
        frame.select("id").union_all(other)


def test_limit_offset_and_head() -> None:
    assert len(pf.range(10_000).limit(7).collect()) == 7
    assert len(pf.range(10_000).offset(9_990).collect()) == 10
    assert len(pf.range(100).offset(95).head(50).collect()) == 5
    assert pf.range(5).limit(0).collect() == []
    for wrong, error in [(True, TypeError), ("1", TypeError), (-1, ValueError), (2**31, ValueError)]:
        with pytest.raises(error):
            pf.range(5).limit(wrong)  # type: ignore[arg-type]


def test_missing_values() -> None:
    frame = pf.from_dict({"n": [1, None, 3], "x": [float("nan"), 1.0, None], "s": ["a", None, "c"]})
    assert frame.drop_null().select("n").collect() == [Row(n=1)]
    assert frame.drop_null(["n"]).select("n").collect() == [Row(n=1), Row(n=3)]
    assert frame.drop_nan().select("n").collect() == [Row(n=None), Row(n=3)]
    assert frame.fill_null(0, ["n", "x"]).select("n", "x").filter(pf.col("n") == 0).collect() == [Row(n=0, x=1.0)]
    assert frame.fill_nan(9, ["x"]).select("x").collect() == [Row(x=9.0), Row(x=1.0), Row(x=None)]
    assert frame.fill_null(7, ["n"]).columns == ["n", "x", "s"]
    assert frame.fill_null(7, ["n"]).schema.type_of("n") == BIGINT.nulls(nullable=False)
    for subset, error in [("n", TypeError), ([], ValueError), (["no"], ValueError)]:
        with pytest.raises(error):
            frame.drop_null(subset)  # type: ignore[arg-type]


def test_a_dataframe_never_changes(frame: pf.DataFrame) -> None:
    before = (frame.columns, frame.schema)
    frame.columns.append("more")
    frame.with_column("y", frame.id).drop("s").filter(frame.id > 1)
    assert (frame.columns, frame.schema) == before


def test_flatten_makes_a_column_of_each_field() -> None:
    table = pa.table({"n": [1, 2], "at": [{"x": 1, "y": "a"}, None]})
    frame = pf.from_arrow(table)
    assert frame.select("n", pf.col("at").flatten).columns == ["n", "at$x", "at$y"]
    assert frame.select(pf.col("at").alias("b").flatten).columns == ["b$x", "b$y"]
    made = frame.select(row(pf.col("n"), 7).flatten, pf.col("at").flatten)
    assert made.columns == ["_c0", "_c1", "at$x", "at$y"]
    assert [tuple(own) for own in made.collect()] == [(1, 7, 1, "a"), (2, 7, None, None)]
    with pytest.raises(ValueError, match="flatten is for a ROW, not for BIGINT"):
        frame.select(pf.col("n").flatten)
    with pytest.raises(ValueError, match="flatten makes several columns"):
        frame.select(pf.col("at").flatten + 1)


def test_zeros_of_both_signs_are_two_constants() -> None:
    (row,) = pf.from_dict({"n": [1]}).select(one=pf.lit(0.0), other=pf.lit(-0.0)).collect()
    assert [repr(value) for value in row] == ["0.0", "-0.0"]


def test_zeros_and_nan_are_members_where_they_are_equal() -> None:
    nan = float("nan")
    frame, x = pf.from_dict({"x": [0.0, -0.0, nan]}), pf.col("x")
    for value in (0.0, -0.0, nan):
        rows = frame.select(one=x.in_(value, 5.0), other=(x == value) | (x == 5.0)).collect()
        assert [row.one for row in rows] == [row.other for row in rows]
