"""A packed environment runs where it is unpacked, and what cannot be packed is refused with what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headgate

pytestmark = pytest.mark.slow  # each makes an environment

MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
BASE = str(Path(sys.base_prefix) / "bin" / f"python{MINOR}")
SITE = f"lib/python{MINOR}/site-packages"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment with the package `shipped` and nothing else."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    install(folder, "shipped", "shipped/__init__.py", "VALUE = 'installed'\n")
    return folder


def install(venv: Path, package: str, file: str, content: str, **told: str) -> Path:
    """Put a package of one file into the environment as pip would; return its folder of metadata."""
    path = venv / SITE / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    facts = venv / SITE / f"{package.replace('-', '_')}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (facts / "RECORD").write_text(f"{file},,\n{facts.name}/METADATA,,\n{facts.name}/RECORD,,\n../../../bin/tool,,\n")
    for name, text in told.items():
        (facts / name.replace("__", ".")).write_text(text)
    return facts


def install_editable(venv: Path, package: str, source: Path, **told: str) -> None:
    url = json.dumps({"url": f"file://{source.parent}", "dir_info": {"editable": True}})
    install(venv, package, f"__editable__.{package}.pth", f"{source}\n", direct_url__json=url, **told)


def pack(python: Path | str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `headgate pack` in another environment, which has headgate from our path only."""
    path = os.pathsep.join([str(Path(headgate.__file__).parents[1]), *filter(None, sys.path)])
    environ = {**os.environ, "PYTHONPATH": path}
    command = [str(python), "-m", "headgate", "pack", "-o", "environment.tar.gz", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environ, cwd=cwd, timeout=300)


def unpacked(cwd: Path) -> Path:
    folder = cwd / "worker" / "environment"
    folder.mkdir(parents=True)
    # Not with tarfile: Python 3.11.2 knows no filters yet, and later ones want one.
    subprocess.run(["tar", "-xzf", str(cwd / "environment.tar.gz"), "-C", str(folder)], check=True)
    return folder


def answer(environment: Path, code: str) -> str:
    """What a program prints in an unpacked environment that sees nothing else."""
    python = environment / "bin" / "python"
    return subprocess.run([python, "-I", "-B", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_packed_environment_runs_elsewhere_with_its_packages(venv: Path, tmp_path: Path) -> None:
    done = pack(venv / "bin" / "python", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    venv.rename(tmp_path / "gone")
    environment = unpacked(tmp_path)
    told = answer(environment, "import sys, shipped; print(shipped.VALUE, shipped.__file__, sys.prefix)")
    assert told == f"installed {environment / SITE / 'shipped/__init__.py'} {environment}"


def test_it_tells_the_options_of_spark_submit(venv: Path, tmp_path: Path) -> None:
    told = json.loads(pack(venv / "bin" / "python", "--json", cwd=tmp_path).stdout)
    cluster = ["--archives", f"{tmp_path}/environment.tar.gz#environment"]
    cluster += ["--conf", "spark.pyspark.python=./environment/bin/python"]
    assert told["cluster-mode"] == cluster
    assert told["client-mode"] == [*cluster, "--conf", f"spark.pyspark.driver.python={venv / 'bin' / 'python'}"]
    assert told["packages"] == ["shipped"]
    shown = pack(venv / "bin" / "python", cwd=tmp_path).stdout
    assert f"--archives '{tmp_path}/environment.tar.gz#environment'" in shown
    assert f"Python {MINOR}" in shown


def test_editable_packages_and_added_modules_are_packed_as_what_they_are(venv: Path, tmp_path: Path) -> None:
    (tmp_path / "project" / "edited").mkdir(parents=True)
    (tmp_path / "project" / "edited" / "__init__.py").write_text("VALUE = 'edited'")
    (tmp_path / "project" / "notes").mkdir()
    install_editable(venv, "edited-tools", tmp_path / "project", top_level__txt="edited\n")
    (tmp_path / "shop.py").write_text("VALUE = 'beside the script'")
    done = pack(venv / "bin" / "python", "--add", "shop.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "project").rename(tmp_path / "gone")
    code = "import edited, shop, importlib.metadata as m; print(edited.VALUE, shop.VALUE, m.version('edited-tools'))"
    environment = unpacked(tmp_path)
    assert answer(environment, code) == "edited beside the script 1.0"
    names = {path.name for path in (environment / SITE).iterdir()}
    assert names == {"edited", "edited_tools-1.0.dist-info", "shipped", "shipped-1.0.dist-info", "shop.py"}


def test_what_spark_brings_and_what_is_excluded_is_left_out(venv: Path, tmp_path: Path) -> None:
    install(venv, "pyspark", "pyspark/__init__.py", "")
    install(venv, "Big.Data", "big_data/__init__.py", "")
    assert pack(venv / "bin" / "python", "--exclude", "big-data", cwd=tmp_path).returncode == 0
    names = {path.name for path in (unpacked(tmp_path) / SITE).iterdir()}
    assert names == {"shipped", "shipped-1.0.dist-info"}


def test_the_python_of_the_workers_can_be_another(venv: Path, tmp_path: Path) -> None:
    assert pack(venv / "bin" / "python", "--python", "/usr/local/bin/python3", cwd=tmp_path).returncode == 0
    environment = unpacked(tmp_path)
    assert os.readlink(environment / "bin" / "python") == "/usr/local/bin/python3"
    assert "home = /usr/local/bin\n" in (environment / "pyvenv.cfg").read_text()


def refused(done: subprocess.CompletedProcess[str], cwd: Path) -> str:
    assert done.returncode != 0
    assert not list(cwd.glob("*environment.tar.gz*"))
    return done.stderr


def test_an_editable_package_whose_modules_cannot_be_told_is_named(venv: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    install_editable(venv, "riddle", tmp_path / "project")
    told = refused(pack(venv / "bin" / "python", cwd=tmp_path), tmp_path)
    assert "riddle is installed as editable" in told
    assert "--exclude riddle" in told


def test_such_a_package_is_left_out_for_modules_that_are_added_under_the_names_they_are_imported_by(
    venv: Path, tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "answers_2.py").write_text("")
    (tmp_path / "answers.py").symlink_to(tmp_path / "project" / "answers_2.py")
    install_editable(venv, "riddle", tmp_path / "project")
    done = pack(venv / "bin" / "python", "--exclude", "riddle", "--add", "answers.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (unpacked(tmp_path) / SITE).iterdir()}
    assert names == {"shipped", "shipped-1.0.dist-info", "answers.py"}


def test_a_path_out_of_the_environment_is_named(venv: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (venv / SITE / "mine.pth").write_text(f"# mine\n{tmp_path / 'elsewhere'}\n")
    told = refused(pack(venv / "bin" / "python", cwd=tmp_path), tmp_path)
    assert f"mine.pth makes modules of {tmp_path / 'elsewhere'} importable" in told


def test_a_python_without_an_environment_is_refused(tmp_path: Path) -> None:
    assert "is not a virtual environment: make one" in refused(pack(BASE, cwd=tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--add", "no_such.py"], "there is no no_such.py to pack"),
        (["--add", "data.csv"], "data.csv cannot be imported"),
        (["--add", "shipped"], "shipped have the same name in the archive: leave one of them out"),
        (["-o", "gone/environment.tgz"], "the folder of gone/environment.tgz does not exist"),
        (["-o", "environment.zip"], "environment.zip must be a .tar.gz"),
        (["-o", "folder.tar.gz"], "folder.tar.gz cannot be written"),
        (["--exclude", "shiped"], "there is no package shiped to leave out; there are: shipped"),
        (["--python", "python3"], "--python python3 must be an absolute path"),
    ],
)
def test_wrong_words_are_told(venv: Path, tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "data.csv").write_text("1")
    (tmp_path / "shipped").mkdir()
    (tmp_path / "folder.tar.gz").mkdir()
    assert told in refused(pack(venv / "bin" / "python", *words, cwd=tmp_path), tmp_path)
