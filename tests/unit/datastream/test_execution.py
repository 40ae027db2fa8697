"""What running a program returns and raises, on a MiniCluster."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

from headgate.common import Configuration, Types, WatermarkStrategy
from headgate.common.job_status import JobStatus
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.lines import BrokenLines
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.datastream import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.errors import JobCancelledError, JobFailedError
from tests.unit.datastream.environments import environment, numbers

FOREVER = 10**18


def halve(value: int) -> float:
    return 12 / (value - 2)


def endless(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(NumberSequenceSource(1, FOREVER), None, "endless")


def collected(stream: DataStream, **options: Any) -> list[Any]:
    return list(stream.execute_and_collect(**options))


def test_execute_returns_the_result_of_the_job(capfd: pytest.CaptureFixture[str]) -> None:
    env = environment()
    numbers(env).print("n")
    result = env.execute("printing")
    assert result.get_net_runtime() >= 0
    assert len(str(result.get_job_id())) == 32
    assert capfd.readouterr().out == "n> 1\nn> 2\nn> 3\n"


def test_an_error_of_user_code_tells_where_it_happened_and_shows_only_the_users_frames() -> None:
    env = environment()
    numbers(env).map(halve).name("halving").print()
    with pytest.raises(JobFailedError) as caught:
        env.execute()
    message = str(caught.value)
    assert "ZeroDivisionError: division by zero" in message
    assert "operator 'halving'" in message
    assert "record: 2" in message
    assert "return 12 / (value - 2)" in message
    assert "src/headgate/operators" not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_an_error_on_a_keyed_stream_names_the_key() -> None:
    env = environment()
    numbers(env).key_by(lambda n: f"key {n}").map(halve).print()
    with pytest.raises(JobFailedError, match="key: 'key 2'"):
        env.execute()


def test_collecting_from_a_job_that_fails_raises_after_the_records_before() -> None:
    records = numbers(environment()).map(halve).execute_and_collect()
    with pytest.raises(JobFailedError, match="division by zero"):
        list(records)


def test_a_limit_ends_an_endless_job() -> None:
    assert collected(endless(environment()), limit=3) == [1, 2, 3]


def test_a_limit_above_the_number_of_records_gives_them_all() -> None:
    assert collected(numbers(environment()), limit=10) == [1, 2, 3]


def test_closing_the_iterator_ends_an_endless_job() -> None:
    with endless(environment()).execute_and_collect() as records:
        assert list(itertools.islice(records, 3)) == [1, 2, 3]
    assert list(records) == []
    records.close()


def test_a_client_cancels_a_job_and_its_result_says_so() -> None:
    env = environment()
    endless(env).filter(lambda n: n < 0).print()
    client = env.execute_async("endless")
    assert client.get_job_status().result() in (JobStatus.CREATED, JobStatus.RUNNING)
    client.cancel().result(timeout=300)
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError, match=str(client.get_job_id())):
        client.get_job_execution_result().result(timeout=300)


def test_a_client_gives_the_failure_of_its_job() -> None:
    env = environment()
    numbers(env).map(halve).print()
    client = env.execute_async()
    with pytest.raises(JobFailedError, match="division by zero"):
        client.get_job_execution_result().result(timeout=300)
    assert client.get_job_status().result() is JobStatus.FAILED


def test_parallel_subtasks_share_the_keys() -> None:
    env = environment().set_parallelism(3)
    generated = env.from_source(DataGeneratorSource(lambda n: n % 5, 100), None, "generated")
    sums = collected(generated.map(lambda n: (n, 1)).key_by(lambda pair: pair[0]).sum(1))
    assert sorted(pair for pair in sums if pair[1] == 20) == [(key, 20) for key in range(5)]


def test_what_is_raised_while_a_program_is_built_has_a_short_stack() -> None:
    with pytest.raises(JobFailedError) as caught:
        collected(numbers(environment()).map(halve))
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "__next__"


def test_the_program_learns_how_many_lines_were_left_out(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("name,age\nann,1\nbroken\nbob,2\n")
    types = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.LONG()])
    options = CsvOptions(types=types, broken_lines=BrokenLines.SKIP)
    source = FileSource.for_record_stream_format(StreamFormat.csv_format(options), str(tmp_path)).build()
    config = Configuration().set_string("headgate.deploy.target", "minicluster")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "people").print()
    result = env.execute()
    assert result.get_accumulator_result("skipped_lines") == 1
    assert result.get_all_accumulator_results() == {"skipped_lines": 1}
    assert result.get_accumulator_result("other") is None


class Counting(MapFunction):
    """Counts what it gets, in a group of its own."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_metrics_group().add_group("mine").counter("seen")

    def map(self, value: Any) -> Any:
        self.seen.inc()
        return value


def test_counters_of_functions_are_accumulators_of_the_job_summed_over_subtasks() -> None:
    env = environment(parallelism__default="2")
    env.from_collection([1, 2, 3]).rebalance().map(Counting()).disable_chaining().map(Counting()).print()
    result = env.execute()
    assert result.get_all_accumulator_results() == {"mine.seen": 6}
    assert str(result).startswith(f"Program execution finished\nJob with JobID {result.get_job_id()} has finished.\n")


def test_a_client_sees_the_counters_of_its_job_while_it_runs_and_after() -> None:
    env = environment()
    endless(env).map(Counting()).print()
    client = env.execute_async()
    while not client.get_accumulators().result().get("mine.seen"):
        time.sleep(0)
    client.cancel().result(120.0)
    assert client.get_accumulators().result()["mine.seen"] > 0


@pytest.mark.slow
def test_a_job_that_is_run_while_its_module_is_imported_is_refused_in_the_place_of_waiting_for_ever(
    tmp_path: Path,
) -> None:
    (tmp_path / "job_at_top_level.py").write_text(
        "from headgate.common import Configuration\n"
        "from headgate.datastream import MapFunction, StreamExecutionEnvironment\n"
        "class Double(MapFunction):\n"
        "    def map(self, value):\n"
        "        return 2 * value\n"
        "config = Configuration().set_string('headgate.deploy.target', 'minicluster')\n"
        "env = StreamExecutionEnvironment.get_execution_environment(config)\n"
        "env.from_collection([1, 2]).map(Double()).print()\n"
        "env.execute()\n"
    )
    command = [sys.executable, "-c", "import job_at_top_level"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert "while module 'job_at_top_level' is being imported" in done.stderr
