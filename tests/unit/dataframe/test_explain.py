"""`explain()`: the plan before and after the rules, and the job graph with its exchanges, uids, columns and rows."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import pkgutil
import re
from typing import Any, get_type_hints

import pytest

from headgate import dataframe as pf
from headgate.dataframe.planner.job_text import FORMS
from headgate.datastream import StreamExecutionEnvironment
from headgate.operators import columns
from headgate.operators.keyed import KeyedOperator


def frame() -> pf.DataFrame:
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    return pf.from_dict({"ts": [at], "k": ["a"], "v": [1]}, watermark=("ts", "ts - INTERVAL '1' SECOND"))


def job_graph(text: str) -> str:
    return re.sub(r"-[0-9a-f]{16}", "-0", text.partition("== Job graph ==\n")[2])


def test_it_shows_vertices_exchanges_uids_and_where_rows_replace_columns(environment: Any) -> None:
    environment.get_config().set("parallelism.default", "2")
    windows = frame().tumble(on="ts", size=dt.timedelta(seconds=5)).group_by("window_start", "window_end", "k")
    assert job_graph(windows.agg(n=pf.col("v").sum).explain()).splitlines() == [
        "1: Source: from_dict, parallelism 1",
        "   Source: from_dict, uid Scan-0: columns",
        "2: Calc -> Calc -> PartialAggregate, parallelism 2, REBALANCE from 1",
        "   Calc: columns",
        "   Calc: columns",
        "   PartialAggregate: columns, then rows: partial results of each batch, which keyed state merges",
        "3: GivenWindows -> WindowAggregate -> Calc, parallelism 2, HASH from 2",
        "   GivenWindows, uid WindowAggregate-0: rows: keyed state is kept for each row",
        "   WindowAggregate: rows, then columns",
        "   Calc: columns",
    ]


def test_it_shows_what_the_rules_do() -> None:
    text = frame().filter(pf.col("v") > 0).select("k").explain()
    written, _, ruled = text.partition("== Optimized plan ==")
    assert "EventTime [ts, delay 1000 ms]" in written
    assert "EventTime" not in ruled
    assert "Scan from_dict [ts, k, v], watermarks of cast(ts), delay 1000 ms" in ruled


def test_it_marks_functions_that_call_python_for_each_value() -> None:
    own = pf.udf(lambda text: text * 2, return_dtype=str, name="doubled")
    text = frame().select(k=own(pf.col("k"))).explain()
    assert "doubled*(k)" in text
    assert "== Functions that call Python for each value ==\ndoubled\n" in text


def test_it_leaves_the_program_of_a_stream_as_it_is(environment: Any) -> None:
    run: StreamExecutionEnvironment = environment.stream_environment()
    stream = run.from_collection([1, 2]).map(lambda number: (number,))
    stream.print()
    rows = pf.from_data_stream(stream, schema={"n": pf.DataType.int64()}).filter(pf.col("n") > 1)
    first, second = rows.explain(), rows.explain()
    assert first == second
    assert "Map: rows: an operator of the DataStream API" in first
    assert "Calc" not in {node["type"] for node in json.loads(run.get_execution_plan())["nodes"]}
    assert [row.n for row in rows.collect()] == [2]


def test_a_statement_set_shows_one_job(tmp_path: Any) -> None:
    both = pf.create_statement_set()
    for name in ("one", "two"):
        frame().write_json(str(tmp_path / name), statement_set=both)
    text = job_graph(both.explain())
    assert len(re.findall("uid Sink-0: columns if the sink takes them", text)) == 2
    assert len(re.findall(r"uid Scan-0(-2)?: columns", text)) == 2
    with pytest.raises(ValueError, match="no writes"):
        pf.create_statement_set().compile_plan()


def test_each_operator_that_emits_or_keeps_rows_says_so() -> None:
    modules = [
        importlib.import_module(own.name) for own in pkgutil.iter_modules(columns.__path__, f"{columns.__name__}.")
    ]
    factories = [own for module in modules for own in vars(module).values() if isinstance(own, type)]
    made = {own: get_type_hints(own.create)["return"] for own in factories if hasattr(own, "create")}
    assert [own for own, operator in made.items() if issubclass(operator, KeyedOperator) and own not in FORMS] == []


def test_joins_and_aggregates_over_rows_keep_rows() -> None:
    one, other = frame(), frame().select(k2=pf.col("k"), ts2=pf.col("ts"))
    over = one.select(total=pf.col("v").sum.over(order_by="ts", partition_by="k"))
    assert re.findall(r"Over.*: (.*)", job_graph(over.explain()))[-1] == "rows, then columns"
    joined = one.join(other, on=(pf.col("k") == pf.col("k2")) & (pf.col("ts") == pf.col("ts2")))
    assert "rows, then columns: pairs of rows in keyed state" in job_graph(joined.explain())
