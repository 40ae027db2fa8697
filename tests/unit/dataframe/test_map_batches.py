"""Functions of users from batch to batch, `map_batches`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate import dataframe as pf
from headgate.dataframe import DataType
from headgate.errors import JobFailedError


def values(frame: pf.DataFrame) -> list[Any]:
    return [list(row) for row in frame.collect()]


def of_arrow(batch: pa.RecordBatch) -> Any:
    return {"id": pc.multiply(batch.column("id"), 2).filter(pc.greater(batch.column("id"), 0))}


def of_pandas(frame: Any) -> Any:
    return frame.assign(id=frame.id * 2)[frame.id > 0]


def of_polars(frame: Any) -> Any:
    import polars as pl  # noqa: PLC0415  # optional

    assert isinstance(frame, pl.DataFrame)
    return frame.filter(pl.col("id") > 0).select(pl.col("id") * 2)


@pytest.mark.parametrize(
    ("batch_format", "function"), [("pyarrow", of_arrow), ("pandas", of_pandas), ("polars", of_polars)]
)
def test_each_format(batch_format: str, function: Callable[[Any], Any]) -> None:
    pytest.importorskip(batch_format)
    assert values(pf.range(3).map_batches(function, batch_format=batch_format)) == [[2], [4]]
    other = DataType.struct({"other": DataType.int64()})
    with pytest.raises(JobFailedError, match=r"returned no column 'other'"):
        pf.range(3).map_batches(function, batch_format=batch_format, return_dtype=other).collect()


def test_polars_frames_keep_types_and_nulls() -> None:
    pl = pytest.importorskip("polars")
    data: dict[str, list[Any]] = {"t": ["a", None, "c"], "f": [0.5, None, 2.0], "l": [[1], [], None]}
    given = pf.from_dict(data)
    assert given.map_batches(lambda frame: frame, batch_format="polars").collect() == given.collect()
    summed = given.map_batches(
        lambda frame: {"total": pl.Series([frame["f"].sum()])},
        batch_format="polars",
        return_dtype=DataType.struct({"total": DataType.float64()}),
    )
    assert values(summed) == [[2.5]]


def test_polars_is_imported_only_where_it_is_used() -> None:
    program = """
import sys
from headgate import dataframe as pf
pf.config.set("headgate.deploy.target", "minicluster")
assert len(pf.range(3).map_batches(lambda batch: batch, batch_size=2).collect()) == 3
sys.exit("polars" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_batch_size_and_concurrency(tmp_path: Path) -> None:
    class Sizes:
        def open(self, context: Any) -> None:
            self.subtask = context.get_index_of_this_subtask()
            (tmp_path / f"opened {self.subtask}").touch(exist_ok=False)

        def __call__(self, batch: pa.RecordBatch) -> Any:
            return {"id": [batch.num_rows]}

        def close(self) -> None:
            (tmp_path / f"closed {self.subtask}").touch(exist_ok=False)

    assert values(pf.range(10).map_batches(Sizes, batch_size=4)) == [[4], [4], [2]]
    assert {path.name for path in tmp_path.iterdir()} == {"opened 0", "closed 0"}
    for path in tmp_path.iterdir():
        path.unlink()
    found = pf.range(100).map_batches(Sizes, concurrency=2)
    assert sum(row.id for row in found.collect()) == 100
    assert {path.name for path in tmp_path.iterdir()} == {"opened 0", "opened 1", "closed 0", "closed 1"}
    assert "concurrency 2" in found.explain()


def test_a_failure_names_function_row_and_line() -> None:
    def fails(batch: pa.RecordBatch) -> Any:
        return {"id": [10 // (n - 7) for n in batch.column("id").to_pylist()]}  # the line that fails

    with pytest.raises(JobFailedError) as failed:
        pf.range(10).map_batches(fails).collect()
    for part in ("ZeroDivisionError", "fails(), a batch of 10 rows", "record: Row(id=7)", "# the line that fails"):
        assert part in str(failed.value)
    with pytest.raises(JobFailedError, match=r"returned string for column 'id'"):
        pf.range(1).map_batches(lambda batch: {"id": ["x"]}).collect()
    with pytest.raises(JobFailedError, match="returned a list, which is no frame"):
        pf.range(1).map_batches(lambda batch: [1]).collect()


def test_a_failure_that_does_not_occur_again_names_no_row() -> None:
    class Once:
        calls = 0

        def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
            self.calls += 1
            if self.calls == 1:
                raise ValueError("only once")
            return batch

    with pytest.raises(JobFailedError, match=r"only once.*a batch of 10 rows") as failed:
        pf.range(10).map_batches(Once).collect()
    assert "record:" not in str(failed.value)


def test_wrong_arguments_are_refused() -> None:
    frame = pf.range(3)
    for wrong, error in (
        ({"batch_format": "numpy"}, ValueError),
        ({"batch_size": 0}, ValueError),
        ({"batch_size": "4"}, TypeError),
        ({"concurrency": True}, TypeError),
        ({"return_dtype": int}, TypeError),
    ):
        with pytest.raises(error):
            frame.map_batches(of_arrow, **wrong)
    with pytest.raises(TypeError):
        frame.map_batches(5)
