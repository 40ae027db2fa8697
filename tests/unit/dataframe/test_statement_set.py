"""Several writes in one job."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate import dataframe as pf
from headgate.common import Configuration
from headgate.table.table_environment import TableEnvironment


def test_writes_are_staged_and_run_as_one_job(tmp_path: Path) -> None:
    folders = [tmp_path / "json", tmp_path / "parquet"]
    for folder in folders:
        folder.mkdir()
    frame = pf.range(5)
    both = pf.create_statement_set()
    frame.write_json(str(folders[0]), statement_set=both)
    frame.filter("id > 2").write_parquet(str(folders[1]), statement_set=both)
    assert [list(folder.iterdir()) for folder in folders] == [[], []]
    assert both.explain() == both.explain()
    assert both.explain().count("Scan range") == 2
    result = both.execute()
    result.wait()
    assert result.get_job_client().get_job_status().result().name == "FINISHED"
    schema = {"id": pf.DataType.int64()}
    assert len(pf.read_json(str(folders[0]), schema=schema).collect()) == 5
    assert [row.id for row in pf.read_parquet(str(folders[1]), schema=schema).collect()] == [3, 4]
    with pytest.raises(ValueError, match="no writes"):
        both.execute()


def test_a_failed_job_raises_when_it_is_waited_for(tmp_path: Path) -> None:
    failing = pf.create_statement_set()
    pf.range(3).select(x=1 / pf.col("id")).write_json(str(tmp_path), statement_set=failing)
    with pytest.raises(Exception, match="divided by zero"):
        failing.execute().wait()


def test_a_set_takes_frames_of_its_environment(tmp_path: Path) -> None:
    frame = pf.range(1)
    with pytest.raises(TypeError, match="create_statement_set"):
        frame.write_json(str(tmp_path), statement_set=[])  # type: ignore[arg-type]
    pf.set_table_environment(TableEnvironment.create(Configuration()))
    with pytest.raises(ValueError, match="environments"):
        frame.write_json(str(tmp_path), statement_set=pf.create_statement_set())
