"""Installed requirements: one folder for each text, whoever asks for it at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headgate.deploy.code.installed import installed
from headgate.deploy.code.program_code import Requirements
from tests.unit.deploy.code.wheels import make_wheel

pytestmark = pytest.mark.slow


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Requirements:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "packages").mkdir()
    make_wheel(tmp_path / "packages", "headgate_test_tax", "TAX = 3")
    (tmp_path / "requirements.txt").write_text("headgate_test_tax")
    return Requirements(tmp_path / "requirements.txt", tmp_path / "packages")


@pytest.mark.soak
def test_of_drivers_that_install_at_one_time_each_finds_the_packages(wanted: Requirements) -> None:
    with ThreadPoolExecutor(2) as drivers:
        one, other = drivers.map(installed, [wanted, wanted])
    assert one == other
    assert one.archive.is_file()
    assert [path.name for path in one.folder.glob("*.py")] == ["headgate_test_tax.py"]
    assert [path.name for path in one.archive.parent.parent.iterdir()] == [one.archive.parent.name]


def test_what_is_left_of_a_folder_that_was_deleted_in_part_is_replaced(wanted: Requirements) -> None:
    before = installed(wanted)
    before.archive.unlink()
    assert installed(wanted) == before
    assert before.archive.is_file()


@pytest.mark.soak
def test_requirements_that_change_behind_those_that_name_them_are_installed_anew(wanted: Requirements) -> None:
    more = wanted.file.with_name("more.txt")
    wanted.file.write_text("-r more.txt  # and no other")
    more.write_text("")
    assert not (installed(wanted).folder / "headgate_test_tax.py").exists()
    more.write_text("headgate_test_tax")
    assert (installed(wanted).folder / "headgate_test_tax.py").is_file()


@pytest.mark.soak
def test_packages_that_are_named_by_their_path_are_installed_anew_when_they_change(wanted: Requirements) -> None:
    assert wanted.packages is not None
    wheel = make_wheel(wanted.packages, "headgate_test_toll", "TOLL = 3")
    of_path = Requirements(wanted.file, None)
    of_path.file.write_text(f"{wheel}\n")
    assert (installed(of_path).folder / "headgate_test_toll.py").read_text() == "TOLL = 3"
    make_wheel(wanted.packages, "headgate_test_toll", "TOLL = 40")
    assert (installed(of_path).folder / "headgate_test_toll.py").read_text() == "TOLL = 40"


def test_a_file_in_another_encoding_that_pip_reads_is_installed(wanted: Requirements) -> None:
    wanted.file.write_text("headgate_test_tax", encoding="utf-16")
    assert (installed(wanted).folder / "headgate_test_tax.py").is_file()
