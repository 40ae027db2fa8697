"""Workers that have nothing but Python: neither headgate nor pyarrow nor the user's modules, until they are shipped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate.deploy.spark.java import ensure_java
from headgate.testing.servers.spark import SparkCluster

# Environments are packed and unpacked, which takes long where others work, too.
pytestmark = [pytest.mark.standalone, pytest.mark.soak]

SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
HEAVY = ["hypothesis", "kafka-python", "pip", "psycopg-binary", "pytest", "pytz", "rich", "setuptools", "tzdata"]
HEAVY += ["boto3", "botocore", "confluent-kafka", "deltalake", "moto", "mypy", "numpy", "pandas", "rocksdict", "ruff"]
HEAVY += ["arro3-core", "babel", "cryptography", "fastavro", "grimp", "playwright", "pygments", "sphinx"]
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "deploy-spark-submit.md"
PROGRAM = """
import shop
from headgate.common import Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.set_parallelism(2).from_source(DataGeneratorSource(int, 1000), None, "numbers")
sums = numbers.map(shop.price).key_by(lambda price: price % 4).reduce(lambda one, other: one + other)
print("RESULT", max(sums.execute_and_collect("shop")))
"""
SHOP = """
def price(number):
    return number * 10
"""
SMALL = {
    "spark.cores.max": "2",
    "spark.executor.cores": "2",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
}
"""Settings with which an application has one executor that fits a worker."""
EXPECTED = f"RESULT {sum(number * 10 for number in range(1, 1000, 2))}"


def left_out() -> list[str]:
    """Options of `headgate pack` that leave out what is large and not needed here."""
    return [word for package in HEAVY for word in ("--exclude", package)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a program and of the module beside it."""
    (tmp_path / "job.py").write_text(PROGRAM)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def make_python(folder: Path, *packages: str) -> str:
    """Make an environment that has these packages of ours and nothing else; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    for package in packages:
        found = metadata.distribution(package)
        for name in {file.parts[0] for file in found.files or () if file.parts[0] != ".."}:
            (folder / SITE / name).symlink_to(str(found.locate_file(name)))
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of workers without any package."""
    python = make_python(tmp_path_factory.mktemp("bare"))
    for module in ("headgate", "pyarrow", "shop"):
        assert subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode != 0
    return python


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `headgate pack` tells of the environment of the tests, without what is large and not needed here."""
    folder = tmp_path_factory.mktemp("packed")
    command = [sys.executable, "-m", "headgate", "pack", "-o", str(folder / "environment.tar.gz"), "--json"]
    command += left_out()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def submit(cluster: SparkCluster, folder: Path, options: list[str], python: str | None, *words: str) -> str:
    """Run the program with spark-submit; return what it prints. `python` is the workers' by PYSPARK_PYTHON."""
    environ = {**os.environ, "JAVA_HOME": str(ensure_java()), "PYSPARK_DRIVER_PYTHON": sys.executable}
    environ.pop("PYSPARK_PYTHON", None)
    if python is not None:
        environ["PYSPARK_PYTHON"] = python
    conf = {
        **SMALL,
        "spark.driver.host": "127.0.0.1",
        "spark.headgate.execution.checkpointing.dir": str(folder / "checkpoints"),
    }
    pairs = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    command = [str(Path(sys.executable).parent / "spark-submit"), "--master", cluster.url, *pairs, *options]
    done = subprocess.run(
        [*command, "job.py", *words], cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("missing", ["headgate", "pyarrow"])
def test_what_headgate_needs_on_a_worker_is_named_with_what_to_do(
    cluster: SparkCluster, folder: Path, bare: str, missing: str
) -> None:
    with zipfile.ZipFile(folder / "headgate.zip", "w") as archive:
        for path in Path(headgate.__file__).parent.rglob("*.py"):
            archive.write(path, path.relative_to(Path(headgate.__file__).parents[1]))
    told = submit(cluster, folder, [] if missing == "headgate" else ["--py-files", "headgate.zip"], bare)
    assert f"the Python of a worker has no module '{missing}', which slots need: ship an environment" in told
    assert "headgate pack" in told


def test_a_job_brings_its_own_environment_where_the_session_has_bare_workers(
    cluster: SparkCluster, folder: Path, packed: dict[str, Any], bare: str
) -> None:
    words = [
        f"-Dpython.archives={packed['archive']}#env",
        "-Dpython.executable=env/bin/python",
        f"-Dpython.files={folder / 'shop.py'}",
    ]
    assert EXPECTED in submit(cluster, folder, [], bare, *words)


def commands(workers: str) -> str:
    """The commands of the page on spark-submit for such workers."""
    found = re.search(rf"<!-- run: {re.escape(workers)} -->\n```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("workers", "packages"),
    [
        ("bare workers", None),
        pytest.param("workers with headgate", None, marks=pytest.mark.long),
        pytest.param("workers with pyarrow", ["pyarrow", "cloudpickle"], marks=pytest.mark.long),
    ],
)
def test_the_commands_of_the_page_run(
    cluster: SparkCluster, folder: Path, workers: str, packages: list[str] | None
) -> None:
    (folder / "conf").mkdir()
    lines = "".join(f"{key} {value}\n" for key, value in SMALL.items())
    (folder / "conf" / "spark-defaults.conf").write_text(lines)
    python = sys.executable if packages is None else make_python(folder / "workers", *packages)
    environ = {
        **os.environ,
        "JAVA_HOME": str(ensure_java()),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_PYTHON": python,
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_MASTER": cluster.url,
        "STORAGE": str(folder / "checkpoints"),
    }
    if workers == "bare workers":
        del environ["PYSPARK_PYTHON"], environ["PYSPARK_DRIVER_PYTHON"]
    # The environment of the tests is larger than it need be.
    script = commands(workers).replace("headgate pack", " ".join(["headgate pack", *left_out()]))
    done = subprocess.run(
        ["bash", "-euc", script], cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert EXPECTED in done.stdout, done.stderr[-3000:]
