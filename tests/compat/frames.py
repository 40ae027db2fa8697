"""DataFrames with each operator that keeps state, whose savepoints are kept in `golden/frames-v1`.

`python -m tests.compat.frames FOLDER` makes the savepoints, with the headgate that is first on `PYTHONPATH`. The
queries that are there must not change, because the savepoints hold their state; new ones are added to `golden/` by a
new version of the folder.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

from headgate import dataframe as pf
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.table.expressions import call_sql
from headgate.table.table_environment import TableEnvironment
from tests.compat import program

GOLDEN: Final = Path(__file__).parent / "golden" / "frames-v1"
LAST, COUNT = 66, 120
"""Numbers before the savepoint, and in all."""
KEYS: Final = 3
MS: Final = dt.timedelta(milliseconds=1)
SETTINGS: Final = {**program.SETTINGS, "headgate.batch.records": "8"}


def queries(env: StreamExecutionEnvironment) -> dict[str, pf.DataFrame]:
    """Return a DataFrame for each kind of state. The time of the number `n` is 10 n milliseconds, the delay is 100."""
    zone = Configuration.from_dict({"table.local-time-zone": "UTC"})
    pf.set_table_environment(TableEnvironment.create(zone))
    numbers = env.from_source(program.Gated(), None, "numbers").uid("numbers").set_parallelism(1)
    frame = pf.from_data_stream(numbers.map(lambda number: (number,)).uid("rows"), schema={"n": pf.DataType.int64()})
    every = frame.with_columns(
        k=pf.col("n") % KEYS,
        text=call_sql("CAST(n * 7 AS STRING)"),
        real=call_sql("CASE WHEN MOD(n, 4) = 0 THEN NULL ELSE n / CAST(8 AS DOUBLE) END"),
        exact=call_sql("CAST(n AS DECIMAL(10, 2))"),
        ts=call_sql("TO_TIMESTAMP_LTZ(n * 10, 3)"),
    ).with_watermark("ts", 100 * MS)
    slim = every.select("n", "k", "ts")
    other = every.filter("MOD(n, 2) = 0").select(k2=pf.col("k"), n2=pf.col("n"), ts2=pf.col("ts"))
    n, text, real, exact = map(pf.col, ("n", "text", "real", "exact"))
    bounds = ("window_start", "window_end", "k")
    near = pf.col("ts2").between(pf.col("ts") - pf.lit(100).milli, pf.col("ts"))
    tumbling = every.tumble(on="ts", size=100 * MS).group_by(*bounds)
    totals = {"most": exact.max, "total": exact.sum, "spread": real.stddev_pop}
    over = {"order_by": "ts", "partition_by": "k"}
    return {
        "windows": tumbling.agg(
            n.sum.alias("sum"), rows=pf.lit(1).count, least=text.min, mean=real.avg, **totals
        ).with_column("spread", pf.col("spread").round(6)),
        "hops": every.hop(on="ts", slide=40 * MS, size=100 * MS).group_by(*bounds).agg(total=n.sum),
        "sessions": every.filter("MOD(n, 20) < 12")
        .session(on="ts", gap=50 * MS, partition_by="k")
        .group_by(*bounds)
        .agg(total=n.sum),
        "distinct": every.select(tens=call_sql("n / 10"), real=call_sql("CAST(n / 10 AS DOUBLE)")).distinct(),
        "limited": every.offset(5).limit(75).select(one=pf.lit(1)),
        "sorted": slim.sort(["ts", "n"]),
        "over": slim.select("n", total=n.sum.over(**over, rows=4), all=n.count.over(**over)),
        "interval join": slim.join(other, on=(pf.col("k") == pf.col("k2")) & near, how="left").select("n", "n2"),
        "join": slim.select("n").join(other.select("n2"), on=pf.col("n") == pf.col("n2") * 2).select("n", "n2"),
        "as-of join": slim.join_asof(other, on="ts", left_by="k", right_by="k2").select("n", "n2"),
    }


def _named(query: str, row: Any) -> list[str]:
    return [query, *map(str, row)]


def build(env: StreamExecutionEnvironment) -> None:
    """Add the queries to an environment."""
    for name, frame in queries(env).items():
        rows = frame.to_data_stream().map(partial(_named, name)).uid(f"{name} named")
        rows.add_sink(program.Seeing()).uid(f"{name} seen")


def run(folder: Path, parallelism: int, **settings: str) -> Any:
    """Submit the queries."""
    program.SEEN.clear()
    every = {**SETTINGS, **settings, "execution.checkpointing.dir": str(folder)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(every))
    build(env.set_parallelism(parallelism))
    pf.set_table_environment(None)
    return env.submit()


def results(folder: Path) -> list[Any]:
    """Run all numbers without a break, and return the sorted rows."""
    program.LIMIT[0] = COUNT
    program.ENDS.set()
    outcome = run(folder, 1).wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    return sorted(program.SEEN)


def make(backend: str, target: Path) -> None:
    """Stop with a canonical savepoint; keep it, and the rows that were emitted before."""
    program.ENDS.clear()
    program.LIMIT[0] = LAST
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = run(folder, program.PARALLELISM, **{"state.backend.type": backend})
        while len([row for row in program.SEEN if row[0] == "limited"]) < LAST - 5:
            assert job.wait(0.01) is None
        location = job.stop_with_savepoint(False, str(folder / "savepoints"), SavepointFormat.CANONICAL).result(120.0)
        job.wait(120.0)
        root = Path(location)
        shutil.copytree(root, target, dirs_exist_ok=True)
    (target / "before.json").write_text(json.dumps(sorted(program.SEEN)) + "\n")


def restore(kept: Path, folder: Path, backend: str, parallelism: int) -> list[Any]:
    """Start from a copy of a savepoint, run to the end, and return the sorted rows of before and after."""
    program.LIMIT[0] = COUNT
    program.ENDS.set()
    before = shutil.copytree(kept, folder / "before")
    recovery = {"state.backend.type": backend, "execution.state-recovery.path": str(before)}
    outcome = run(folder / "after", parallelism, **recovery).wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    return sorted([*json.loads((kept / "before.json").read_text()), *program.SEEN])


if __name__ == "__main__":
    for each in ("hashmap", "rocksdb"):
        make(each, Path(sys.argv[1], f"{each}-canonical"))
