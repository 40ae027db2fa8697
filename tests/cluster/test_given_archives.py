"""Archives that a program ships, on a local session: what Spark makes of them, and what it must not be given."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.errors import ConfigError, EnvironmentFault

pytestmark = [pytest.mark.spark, pytest.mark.soak]


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """A folder with a file and a program, its own each time: a session has the same archive once only."""
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "weights.bin").write_bytes(os.urandom(3_000_000))
    program = tmp_path / "content" / "program"
    program.write_text("#!/bin/sh")
    program.chmod(0o755)
    return tmp_path / "content"


def environment(spark: SparkSession, **settings: str) -> StreamExecutionEnvironment:
    conf = Configuration.from_dict({f"python.{key}": value for key, value in settings.items()})
    return StreamExecutionEnvironment.get_execution_environment(conf, spark).set_parallelism(1)


def results(env: StreamExecutionEnvironment) -> list[Any]:
    def found(number: int) -> tuple[int, int]:
        return number, sum(path.stat().st_size for path in Path("model").glob("*.bin"))

    return list(env.from_collection([1]).map(found).execute_and_collect("archives"))


def test_a_damaged_archive_is_told_and_the_session_goes_on(spark: SparkSession, content: Path) -> None:
    archive = Path(shutil.make_archive(str(content.parent / "model"), "gztar", content))
    archive.write_bytes(archive.read_bytes()[:-1000])
    with pytest.raises(EnvironmentFault, match=r"model\.tar\.gz cannot be unpacked"):
        results(environment(spark, archives=f"{archive}#model"))
    assert results(environment(spark)) == [(1, 0)]


def test_an_archive_that_is_not_compressed_is_unpacked_with_its_permissions(spark: SparkSession, content: Path) -> None:
    archive = shutil.make_archive(str(content.parent / "model"), "tar", content)
    env = environment(spark, archives=f"{archive}#model")
    may = env.from_collection([1]).map(lambda _: os.access("model/program", os.X_OK))
    assert list(may.execute_and_collect("permissions")) == [True]


def test_jobs_that_are_submitted_at_one_time_may_have_the_same_archive(spark: SparkSession, content: Path) -> None:
    archive = shutil.make_archive(str(content.parent / "model"), "gztar", content)
    with ThreadPoolExecutor(2) as programs:
        found = list(programs.map(results, [environment(spark, archives=f"{archive}#model") for _ in range(2)]))
    assert found == [[(1, 3_000_000)]] * 2


def test_a_python_that_is_not_in_its_archive_is_told_by_the_archives_name(spark: SparkSession, content: Path) -> None:
    archive = shutil.make_archive(str(content.parent / "model"), "gztar", content)
    env = environment(spark, archives=f"{archive}#model", executable="model/bin/python")
    with pytest.raises(ConfigError, match=r"is model/bin/python, but the archive model has no bin/python"):
        results(env)


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_a_registered_file_or_folder_is_found_by_its_name(
    spark: SparkSession, content: Path, mode: RuntimeExecutionMode
) -> None:
    (content / "program").chmod(0o644)
    env = environment(spark).set_runtime_mode(mode)
    env.register_cached_file(str(content), "model")
    env.register_cached_file(str(content / "program"), "run", executable=True)
    found = env.from_collection([1]).map(
        lambda _: (Path("model/weights.bin").stat().st_size, Path("run").read_text(), os.access("run", os.X_OK))
    )
    assert list(found.execute_and_collect("cached")) == [(3_000_000, "#!/bin/sh", True)]
