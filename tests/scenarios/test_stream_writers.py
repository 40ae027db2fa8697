"""Jobs that drive a stream writer of PySpark: each record once, one commit for each checkpoint, whatever fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Configuration, Types
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.spark import SparkSink
from headgate.elements import SavepointFormat
from headgate.errors import JobFailedError
from tests.scenarios.paced import HURRY, Paced
from tests.scenarios.runs import wait_until
from tests.scenarios.worded import BURST, COUNT, EXPECTED, FAULTS, Worded, nothing_planned  # noqa: F401  # a fixture
from tests.stream_writers import BatchFile, StagedFiles, StagedFilesSource, batches_in, rows_in

pytestmark = pytest.mark.slow

TYPE: Final = Types.ROW_NAMED(["number", "word"], [Types.LONG(), Types.STRING()])


def job(folder: Path, sink: SparkSink, burst: int = BURST, **settings: str) -> StreamExecutionEnvironment:
    configuration = {
        "headgate.deploy.target": "minicluster",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
        "execution.checkpointing.interval": "20 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "20",
        "restart-strategy.fixed-delay.delay": "0 ms",
        **{key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()},
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(configuration))
    env.set_parallelism(2)
    numbers = env.from_source(Paced(COUNT, burst), None, "numbers").uid("numbers")
    numbers.rebalance().map(Worded()).uid("worded").sink_to(sink).uid("sink")
    return env


def sorted_rows(table: Path) -> list[Any]:
    return sorted(rows_in(table), key=lambda row: row["number"])


def staged(table: Path) -> SparkSink:
    return SparkSink.for_data_source(StagedFilesSource, TYPE, options={"path": table}, idempotent_commit=True)


def batched(table: Path) -> SparkSink:
    return SparkSink.for_writer(BatchFile(str(table)), TYPE, idempotent_commit=True)


@pytest.mark.parametrize("sink", [staged, batched])
def test_a_job_that_fails_often_gives_each_record_once(sink: Any, tmp_path: Path) -> None:
    FAULTS[:] = [60, 110, 111, 200, 280]
    table = tmp_path / "table"
    job(tmp_path, sink(table)).execute()
    assert FAULTS == []
    assert sorted_rows(table) == EXPECTED
    assert len(batches_in(table)) > 5


def test_a_job_that_goes_on_from_a_savepoint_has_higher_batch_ids(tmp_path: Path) -> None:
    table = tmp_path / "table"
    first: Any = job(tmp_path, batched(table)).submit()
    wait_until(lambda: table.exists() and len(batches_in(table)) > 2, first)
    location = first.stop_with_savepoint(False, None, SavepointFormat.CANONICAL).result(120.0)
    first.wait(120.0)
    before = batches_in(table)
    HURRY.set()
    job(tmp_path, batched(table), COUNT, execution__state_recovery__path=location).execute()
    assert sorted_rows(table) == EXPECTED
    after = [batch for batch in batches_in(table) if batch not in before]
    assert min(after) > max(before)


class Broken(StagedFiles):
    def write(self, iterator: Any) -> Any:
        raise OSError("the disk is full")


def test_a_writer_that_raises_fails_the_job_with_its_own_traceback(tmp_path: Path) -> None:
    sink = SparkSink.for_writer(Broken(str(tmp_path / "table")), TYPE, idempotent_commit=True)
    with pytest.raises(JobFailedError, match="OSError: the disk is full") as found:
        job(tmp_path, sink, restart_strategy__type="none").execute()
    assert 'raise OSError("the disk is full")' in str(found.value)
