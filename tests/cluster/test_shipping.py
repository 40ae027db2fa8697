"""Code that reaches the executors: workers of a standalone cluster that do not have the modules of the program."""

from __future__ import annotations

import importlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor
from headgate.errors import ConfigError, JobFailedError
from tests.unit.deploy.code.wheels import make_wheel

pytestmark = pytest.mark.standalone

SHOP = """
class Price:
    def __init__(self, cents):
        self.cents = cents


def price(number):
    return number * {factor}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a program, which the driver imports from, and the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


@pytest.fixture
def shop(folder: Path) -> Iterator[ModuleType]:
    """The module `shop` beside the program."""
    (folder / "shop.py").write_text(SHOP.format(factor=10))
    importlib.invalidate_caches()
    yield importlib.import_module("shop")
    del sys.modules["shop"]


def environment(spark: SparkSession, folder: Path, **settings: str) -> StreamExecutionEnvironment:
    given = {key.replace("_", "."): value for key, value in settings.items()}
    conf = Configuration.from_dict({"execution.checkpointing.dir": str(folder / "checkpoints"), **given})
    return StreamExecutionEnvironment.get_execution_environment(conf, spark).set_parallelism(2)


def results(env: StreamExecutionEnvironment, function: Callable[[int], Any]) -> list[Any]:
    return sorted(env.from_collection([1, 2]).rebalance().map(function).execute_and_collect("shipping"))


@pytest.mark.soak
def test_a_module_beside_the_script_is_named_with_each_way_to_ship_it_and_then_shipped(
    cluster_session: SparkSession, folder: Path, shop: ModuleType
) -> None:
    with pytest.raises(JobFailedError, match="needs module 'shop'") as told:
        results(environment(cluster_session, folder), shop.price)
    file = str(folder / "shop.py")
    for way in (f"env.add_python_file('{file}')", f"{file} with --py-files", f"headgate pack --add {file}"):
        assert way in str(told.value)
    env = environment(cluster_session, folder)
    env.add_python_file("shop.py")
    assert results(env, shop.price) == [10, 20]


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_jobs_of_one_session_have_their_own_versions_of_a_module(
    cluster_session: SparkSession, folder: Path, shop: ModuleType, mode: str
) -> None:
    found = []
    for factor in (10, 7):
        (folder / "shop.py").write_text(SHOP.format(factor=factor))
        env = environment(cluster_session, folder, **{"execution_runtime-mode": mode})
        env.add_python_file("shop.py")
        found.append(results(env, shop.price))
    assert found == [[10, 20], [7, 14]]


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_archives_and_requirements_are_where_functions_look_for_them(
    cluster_session: SparkSession, folder: Path, mode: str
) -> None:
    (folder / "content").mkdir()
    (folder / "content" / "weights.txt").write_text("7")
    (folder / "wheels").mkdir()
    make_wheel(folder / "wheels", "headgate_test_scale", "FACTOR = 100")
    (folder / "requirements.txt").write_text("headgate_test_scale\n")
    env = environment(cluster_session, folder, **{"execution_runtime-mode": mode})
    env.add_python_archive(shutil.make_archive("model", "gztar", folder / "content"))
    env.add_python_archive(shutil.make_archive("model", "zip", folder / "content"), "zipped")
    env.set_python_requirements("requirements.txt", "wheels")

    def scaled(number: int) -> int:
        from headgate_test_scale import FACTOR  # type: ignore[import-not-found]  # noqa: PLC0415  # on the workers

        weights = [Path(archive, "weights.txt").read_text() for archive in ("model.tar.gz", "zipped")]
        return number * int(FACTOR) * int("".join(weights))

    assert results(env, scaled) == [7700, 15400]


def test_a_python_that_is_nowhere_is_told(cluster_session: SparkSession, folder: Path) -> None:
    env = environment(cluster_session, folder, python_executable="/no/such/python")
    with pytest.raises(JobFailedError, match="a worker cannot start the Python /no/such/python: No such file"):
        results(env, str)
    with pytest.raises(ConfigError, match=r"env/bin/python, .* nor in one of the job's archives \(there are none\)"):
        results(environment(cluster_session, folder, python_executable="env/bin/python"), str)


class LastPrice(KeyedProcessFunction):
    """Keeps what `make` makes of a record, and leaves a mark; without it, reads what there is."""

    def __init__(self, make: Callable[[int], Any] | None, mark: Path) -> None:
        self._make = make
        self._mark = mark

    def open(self, runtime_context: Any) -> None:
        self._last = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if self._make is None:
            yield self._last.value()
        else:
            self._last.update(self._make(value))
            self._mark.touch()


def endless(env: StreamExecutionEnvironment, function: LastPrice) -> None:
    numbers = env.from_source(DataGeneratorSource(int, None, 100), None, "numbers").uid("numbers")
    numbers.key_by(lambda value: value % 10).process(function).uid("last").print().uid("out")


@pytest.mark.soak
def test_a_module_that_restored_state_needs_is_named(
    cluster_session: SparkSession, folder: Path, shop: ModuleType
) -> None:
    env = environment(cluster_session, folder)
    env.add_python_file("shop.py")
    mark = folder / "mark"
    endless(env, LastPrice(shop.Price, mark))
    client = env.execute_async("keeps prices")
    due_s = time.monotonic() + 120.0
    while not mark.exists():
        assert time.monotonic() < due_s
        time.sleep(0.05)
    savepoint = client.stop_with_savepoint(False, str(folder / "savepoints")).result()
    again = environment(cluster_session, folder, **{"execution_state-recovery_path": savepoint})
    endless(again, LastPrice(None, mark))
    with pytest.raises(JobFailedError, match=r"objects of the class shop\.Price") as told:
        again.execute("reads prices")
    assert f"env.add_python_file('{folder / 'shop.py'}')" in str(told.value)
