"""Code that a program ships, on MiniCluster: modules, archives and packages are there while its job runs."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.common import Configuration
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.errors import ConfigError, EnvironmentFault
from tests.unit.deploy.code.wheels import make_wheel


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, and the only place for temporary files and caches."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def environment(**settings: str) -> StreamExecutionEnvironment:
    given = {f"python.{key}": value for key, value in settings.items()}
    conf = Configuration.from_dict({"headgate.deploy.target": "minicluster", **given})
    return StreamExecutionEnvironment.get_execution_environment(conf)


def results(env: StreamExecutionEnvironment, function: Callable[[int], Any]) -> list[Any]:
    return list(env.from_collection([1]).map(function).execute_and_collect())


def test_functions_import_files_that_were_added_or_set(folder: Path) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "headgate_test_prices.py").write_text("PRICE = 20")
    (folder / "headgate_test_rules").mkdir()
    (folder / "headgate_test_rules" / "__init__.py").write_text("TAX = 2")
    env = environment(files=str(folder / "headgate_test_rules"))
    env.add_python_file("lib")

    def price(number: int) -> int:
        import headgate_test_prices  # type: ignore[import-not-found]  # noqa: PLC0415  # there when the job runs
        import headgate_test_rules  # type: ignore[import-not-found]  # noqa: PLC0415

        return int(headgate_test_prices.PRICE + headgate_test_rules.TAX)

    assert results(env, price) == [22]


def test_of_two_modules_of_one_name_the_last_one_given_wins_as_in_slots_of_spark(folder: Path) -> None:
    env = environment()
    for name in ("first", "last"):
        (folder / name).mkdir()
        (folder / name / "headgate_test_twice.py").write_text(f"NAME = {name!r}")
        env.add_python_file(f"{name}/headgate_test_twice.py")

    def which(number: int) -> str:
        import headgate_test_twice  # type: ignore[import-not-found]  # noqa: PLC0415  # there when the job runs

        return str(headgate_test_twice.NAME)

    assert results(env, which) == ["last"]
    given = [place for place, entry in enumerate(sys.path) if Path(entry).name in ("first", "last")]
    assert min(given) > sys.path.index(str(Path(shutil.__file__).parent)), "what could be imported before comes first"


def make_archive(folder: Path, kind: str = "zip") -> str:
    (folder / "content").mkdir()
    (folder / "content" / "weights.txt").write_text("7")
    return shutil.make_archive("model", kind, folder / "content")


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_archives_are_unpacked_in_the_working_folder_and_gone_after_the_job(
    folder: Path, kind: str, mode: RuntimeExecutionMode
) -> None:
    env = environment()
    env.set_runtime_mode(mode)
    env.add_python_archive(make_archive(folder, kind), "weights")
    before = sorted(folder.iterdir())
    assert results(env, lambda _: Path("weights/weights.txt").read_text()) == ["7"]
    assert sorted(folder.iterdir()) == before
    assert list((folder / "tmp").iterdir()) == []


def test_what_stands_where_an_archive_is_to_be_unpacked_stays(folder: Path) -> None:
    env = environment()
    env.add_python_archive(make_archive(folder))  # would be unpacked as the archive itself
    with pytest.raises(EnvironmentFault, match=r"found as .*/model\.zip, .* is there already: give it another folder"):
        results(env, str)
    assert (folder / "model.zip").is_file()
    assert list((folder / "tmp").iterdir()) == []


def test_an_archive_that_is_none_is_named(folder: Path) -> None:
    (folder / "broken.zip").write_text("no archive")
    with pytest.raises(EnvironmentFault, match=r"broken\.zip cannot be unpacked"):
        results(environment(archives="broken.zip#broken"), str)


def tar_of(member: tarfile.TarInfo) -> None:
    with tarfile.open("model.tar", "w") as archive:
        archive.addfile(member)


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def device() -> tarfile.TarInfo:
    member = tarfile.TarInfo("null")
    member.type, member.devmajor, member.devminor = tarfile.CHRTYPE, 1, 3
    return member


@pytest.mark.parametrize(
    "member",
    [tarfile.TarInfo("../outside"), link("a", "/etc"), link("a", "../../b"), device()],
    ids=["outside", "absolute link", "link to the outside", "device"],
)
def test_a_tar_archive_with_a_member_that_leads_out_of_its_folder_is_refused(
    folder: Path, member: tarfile.TarInfo
) -> None:
    tar_of(member)
    with pytest.raises(EnvironmentFault, match=r"model\.tar cannot be unpacked: "):
        results(environment(archives="model.tar#model"), str)
    assert sorted(path.name for path in folder.iterdir()) == ["model.tar", "tmp"]
    assert list((folder / "tmp").iterdir()) == []


def test_a_zip_archive_with_a_member_that_leads_out_of_its_folder_is_refused(folder: Path) -> None:
    with zipfile.ZipFile("model.zip", "w") as archive:
        archive.writestr("../outside", "")
    with pytest.raises(EnvironmentFault, match=r"model\.zip cannot be unpacked: '\.\./outside' would be"):
        results(environment(archives="model.zip#model"), str)


def test_where_python_has_no_filter_a_tar_archive_is_refused_and_a_zip_archive_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(tarfile, "data_filter")
    tar_of(tarfile.TarInfo("weights"))
    with pytest.raises(EnvironmentFault, match=r"Use Python 3\.11\.4 or later, or a \.zip archive"):
        results(environment(archives="model.tar#model"), str)
    env = environment(archives=f"{make_archive(folder)}#model")
    assert results(env, lambda _: Path("model/weights.txt").read_text()) == ["7"]


def test_an_archive_that_holds_another_python_is_left_out_as_that_python_is(folder: Path) -> None:
    tar_of(link("bin/python", sys.executable))
    env = environment(archives="model.tar#other", executable="./other/bin/python")
    assert results(env, lambda _: Path("other").exists()) == [False]


@pytest.fixture
def wheels(folder: Path) -> Path:
    (folder / "wheels").mkdir()
    make_wheel(folder / "wheels", "headgate_test_tool", "VERSION = 'from the wheel'")
    (folder / "requirements.txt").write_text("headgate_test_tool==1.0\n")
    return folder / "wheels"


def version_of_tool(_: int) -> str:
    import headgate_test_tool  # type: ignore[import-not-found]  # noqa: PLC0415  # there when the job runs

    return str(headgate_test_tool.VERSION)


@pytest.mark.slow
def test_requirements_are_installed_once_for_each_text(
    wheels: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment()
    env.set_python_requirements("requirements.txt", "wheels")
    assert results(env, version_of_tool) == ["from the wheel"]
    monkeypatch.setattr(sys, "executable", "/no/python/for/pip")
    again = environment(requirements="requirements.txt#wheels")
    assert results(again, version_of_tool) == ["from the wheel"]
    assert len(list((folder / "cache" / "headgate" / "requirements").iterdir())) == 1


@pytest.mark.slow
def test_requirements_that_cannot_be_installed_are_told_with_what_pip_says(wheels: Path, folder: Path) -> None:
    (folder / "requirements.txt").write_text("headgate_test_tool==2.0\n")
    with pytest.raises(EnvironmentFault, match=r"(?s)pip cannot install .*requirements\.txt.*headgate_test_tool==2\.0"):
        results(environment(requirements="requirements.txt#wheels"), version_of_tool)
    assert list((folder / "cache" / "headgate" / "requirements").iterdir()) == []


def test_another_python_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert results(environment(executable="/usr/bin/python3"), lambda _: sys.executable) == [sys.executable]
    assert "python.executable is /usr/bin/python3, but MiniCluster runs in this process" in caplog.text


def test_settings_are_checked_before_a_job_starts() -> None:
    with pytest.raises(ConfigError, match=r"python\.files: there is no .*/gone\.py"):
        results(environment(files="gone.py"), str)


def test_a_registered_file_or_folder_is_found_by_its_name_while_the_job_runs(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "rates.csv").write_text("EUR,1")
    env = environment()
    env.register_cached_file("data/rates.csv", "rates")
    env.register_cached_file((folder / "data").as_uri(), "all")
    assert results(env, lambda _: (Path("rates").read_text(), Path("all/rates.csv").read_text())) == [("EUR,1",) * 2]
    assert sorted(path.name for path in folder.iterdir()) == ["data", "tmp"]


def test_a_file_registered_under_its_own_name_is_where_it_was(folder: Path) -> None:
    (folder / "rates.csv").write_text("EUR,1")
    env = environment()
    env.register_cached_file("rates.csv", "rates.csv")
    assert results(env, lambda _: Path("rates.csv").read_text()) == ["EUR,1"]
    assert (folder / "rates.csv").read_text() == "EUR,1"


def test_a_file_that_is_to_be_run_can_be(folder: Path) -> None:
    (folder / "greet.sh").write_text("#!/bin/sh\necho hello")
    env = environment()
    env.register_cached_file("greet.sh", "greet", executable=True)
    assert results(env, lambda _: subprocess.run(["./greet"], capture_output=True, check=True).stdout) == [b"hello\n"]
    assert not os.access(folder / "greet.sh", os.X_OK)
    assert list((folder / "tmp").iterdir()) == []


def test_a_name_that_something_else_has_is_told(folder: Path) -> None:
    (folder / "rates.csv").write_text("EUR,1")
    (folder / "rates").write_text("other")
    env = environment()
    env.register_cached_file("rates.csv", "rates")
    with pytest.raises(EnvironmentFault, match=r"rates\.csv is to be found as .*/rates, .* give it another name"):
        results(env, str)
    assert (folder / "rates").read_text() == "other"
