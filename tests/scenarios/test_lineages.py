"""One job id is used again, with other storage or from a savepoint: all output arrives, beside that of earlier runs."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headgate.common import Configuration, Types
from headgate.common.serialization import Encoder
from headgate.connectors.delta import DeltaSink
from headgate.connectors.files.sink import FileSink
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.datastream.connectors.spark import SparkSink
from headgate.elements import SavepointFormat
from headgate.functions.sink import Sink
from tests.delta.tables import rows_of
from tests.scenarios.paced import HURRY, Paced
from tests.scenarios.runs import wait_until
from tests.stream_writers import BatchFile, rows_in

NUMBER = Types.ROW_NAMED(["number"], [Types.LONG()])
JOB_ID = "5ce7a710" * 4
COUNT = 200


def environment(folder: Path, job_id: str = JOB_ID, **settings: str) -> StreamExecutionEnvironment:
    configuration = {
        "headgate.deploy.target": "minicluster",
        "headgate.job.id": job_id,
        "execution.checkpointing.dir": str(folder),
        "execution.checkpointing.interval": "20 ms",
        **settings,
    }
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(configuration))


def sink_of(kind: str, target: Path) -> Sink[Any]:
    if kind == "delta":
        return DeltaSink(target, NUMBER)
    if kind == "spark":
        return SparkSink.for_writer(BatchFile(str(target)), NUMBER, idempotent_commit=True)
    return FileSink.for_row_format(str(target), Encoder.json_lines_encoder()).build()


def seen(kind: str, target: Path) -> list[int]:
    if kind == "delta":
        has_begun = DeltaTable.is_deltatable(str(target))
        return sorted(row["number"] for row in rows_of(target)) if has_begun else []
    if kind == "spark":
        return sorted(row["number"] for row in rows_in(target))
    lines = (line for path in target.rglob("part-*") for line in path.read_text().splitlines())
    return sorted(json.loads(line)["number"] for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("mode", RuntimeExecutionMode)
@pytest.mark.parametrize("kind", ["delta", "spark", "files"])
def test_the_same_job_id_with_new_storage_writes_everything_again(
    kind: str, mode: RuntimeExecutionMode, tmp_path: Path
) -> None:
    for run in ("first", "second"):
        env = environment(tmp_path / run).set_runtime_mode(mode)
        env.from_collection([(number,) for number in range(COUNT)], NUMBER).sink_to(sink_of(kind, tmp_path / "out"))
        env.execute()
    assert seen(kind, tmp_path / "out") == sorted([*range(COUNT), *range(COUNT)])


@pytest.mark.parametrize("kind", ["delta", "spark", "files"])
def test_two_jobs_whose_ids_begin_alike_write_to_one_target(kind: str, tmp_path: Path) -> None:
    for job_id in (JOB_ID, JOB_ID[:-1] + "1"):
        env = environment(tmp_path / "checkpoints", job_id)
        env.from_collection([(number,) for number in range(COUNT)], NUMBER).sink_to(sink_of(kind, tmp_path / "out"))
        env.execute()
    assert seen(kind, tmp_path / "out") == sorted([*range(COUNT), *range(COUNT)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["delta", "spark", "files"])
def test_a_job_that_goes_back_to_a_savepoint_under_its_id_loses_nothing(kind: str, tmp_path: Path) -> None:
    """What comes after the savepoint is there twice then, as the target has what the first run wrote."""
    HURRY.clear()

    def program(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
        numbers = env.from_source(Paced(COUNT, 10), None, "numbers").uid("numbers")
        rows = numbers.map(lambda number: (number,), NUMBER).uid("rows")
        rows.sink_to(sink_of(kind, tmp_path / "out")).uid("sink")
        return env

    job: Any = program(environment(tmp_path / "first")).submit()
    wait_until(lambda: len(seen(kind, tmp_path / "out")) > 20, job)
    savepoint = job.trigger_savepoint(str(tmp_path / "savepoints"), SavepointFormat.CANONICAL).result(120.0)
    HURRY.set()
    assert job.wait(120.0).status.word == "finished"
    assert seen(kind, tmp_path / "out") == list(range(COUNT))
    again = environment(tmp_path / "second", **{"execution.state-recovery.path": savepoint})
    program(again).execute()
    counted = Counter(seen(kind, tmp_path / "out"))
    assert sorted(counted) == list(range(COUNT))
    twice = list(itertools.dropwhile(lambda number: counted[number] == 1, range(COUNT)))
    assert twice, "the savepoint was taken before the end"
    assert all(counted[number] == 2 for number in twice), "all that comes after the savepoint is written again"
