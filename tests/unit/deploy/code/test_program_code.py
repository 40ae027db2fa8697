"""Code that a program ships: how it is read from the settings, and what is refused before anything runs."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.code.archives import write_bundle
from headgate.deploy.code.program_code import Archive, CachedFile, ProgramCode, Requirements, program_code
from headgate.errors import ConfigError
from headgate.options import resolve
from tests.unit.deploy.code.wheels import make_wheel


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a file of each kind; what a test makes importable is forgotten after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["somewhere"])
    for name in ("shop.py", "notes.txt", "model.zip", "model.tar.gz", "needs.txt"):
        (tmp_path / name).write_text("")
    for name in ("lib", "wheels"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_settings_name_code_as_flink_has_it(folder: Path) -> None:
    given = program_code(
        resolve(
            {
                "python.files": f"shop.py, file://{folder}/lib",
                "python.archives": "model.zip#model,model.tar.gz",
                "python.requirements": "needs.txt#wheels",
                "python.executable": "model/bin/python",
                "pipeline.cached-files": f"name:notes, path:'file://{folder}/notes.txt'; "
                "name:lib,path:lib,executable:True",
            }
        )
    )
    assert given == ProgramCode(
        files=(folder / "shop.py", folder / "lib"),
        archives=(Archive(folder / "model.zip", "model"), Archive(folder / "model.tar.gz", "model.tar.gz")),
        requirements=Requirements(folder / "needs.txt", folder / "wheels"),
        cached=(CachedFile(folder / "notes.txt", "notes"), CachedFile(folder / "lib", "lib", is_executable=True)),
        executable="model/bin/python",
    )
    assert not given.is_nothing
    assert program_code(resolve()).is_nothing


def test_the_methods_of_an_environment_set_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_python_file("shop.py")
    env.add_python_file("lib")
    env.add_python_archive("model.zip", "model")
    env.add_python_archive("model.tar.gz")
    env.set_python_requirements("needs.txt", "wheels")
    env.set_python_executable("model/bin/python")
    env.register_cached_file("notes.txt", "notes")
    env.register_cached_file(str(folder / "lib"), "lib", True)
    monkeypatch.chdir("/")
    given = program_code(env._settings())
    assert given.files == (folder / "lib", folder / "shop.py")
    assert {each.folder for each in given.archives} == {"model", "model.tar.gz"}
    assert given.requirements == Requirements(folder / "needs.txt", folder / "wheels")
    assert given.executable == "model/bin/python"
    assert given.cached == (
        CachedFile(folder / "notes.txt", "notes"),
        CachedFile(folder / "lib", "lib", is_executable=True),
    )


BAD: list[tuple[Callable[[Any], object], str]] = [
    (lambda env: env.add_python_file("gone.py"), r"python\.files: there is no /.*/gone\.py on the driver's machine"),
    (lambda env: env.add_python_file("notes.txt"), r"Python imports nothing from /.*/notes\.txt"),
    (lambda env: env.add_python_file("hdfs://host/shop.py"), r"not on the driver's machine.*--py-files"),
    (lambda env: env.add_python_file(Path("shop.py")), r"add_python_file\(\) takes a path as text, not PosixPath"),
    (lambda env: env.add_python_file("a,b.py"), "must not have a , or #"),
    (lambda env: env.add_python_file(""), "takes a path as text"),
    (lambda env: env.add_python_archive("model.zip#model"), "follows a # in the option is an argument of its own"),
    (
        lambda env: env.add_python_archive("lib"),
        r"/lib is not an archive that Spark unpacks: make it one of .*\.tar\.gz",
    ),
    (lambda env: env.add_python_archive("model.zip", "a/b"), "'a/b' must be the name of one folder"),
    (lambda env: env.add_python_archive("model.zip", ".."), "name of one folder"),
    (lambda env: env.add_python_archive("model.zip", 7), "takes a path as text, not 7"),
    (lambda env: env.register_cached_file("gone", "x"), r"cached-files: there is no /.*/gone on the driver's machine"),
    (lambda env: env.register_cached_file("hdfs://host/x", "x"), r"not on the driver's machine: copy it there"),
    (lambda env: env.register_cached_file("a;b", "x"), "'a;b' is not a path, or has a comma, a semicolon"),
    (lambda env: env.register_cached_file("lib", "a/b"), "'a/b' must be the name of one file"),
    (lambda env: env.register_cached_file("lib", ".."), "name of one file"),
    (lambda env: [env.register_cached_file("lib", "x") for _ in range(2)], "two files with the name x"),
    (lambda env: env.set_python_requirements("lib"), "/lib is not a file of requirements"),
    (lambda env: env.set_python_requirements("needs.txt", "shop.py"), "/shop.py is not a folder of packages"),
    (lambda env: env.set_python_requirements("needs.txt", "gone"), "there is no /.*/gone"),
]


@pytest.mark.parametrize(("add", "told"), BAD, ids=[told for _, told in BAD])
def test_what_cannot_be_used_is_told_at_once(add: Callable[[Any], object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        add(StreamExecutionEnvironment.get_execution_environment())


def test_two_archives_for_one_folder_are_refused() -> None:
    with pytest.raises(ConfigError, match="two archives for the folder model"):
        program_code(resolve({"python.archives": "model.zip#model,model.tar.gz#model"}))


def test_a_file_and_an_archive_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"pipeline\.cached-files has a file model, and python\.archives"):
        program_code(resolve({"python.archives": "model.zip#model", "pipeline.cached-files": "name:model,path:lib"}))


@pytest.mark.parametrize("entry", ["lib", "name:lib", "path:lib", "name:lib,path:lib,mode:7"])
def test_a_registered_file_of_another_form_is_refused(entry: str) -> None:
    with pytest.raises(ConfigError, match="is not of the form name:model,path:/data"):
        program_code(resolve({"pipeline.cached-files": entry}))


def test_an_executable_has_to_be_text() -> None:
    with pytest.raises(Exception, match="the Python of slots"):
        StreamExecutionEnvironment.get_execution_environment().set_python_executable("")


def test_a_bundle_has_a_folder_for_each_file_and_is_the_same_for_the_same(folder: Path) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "__init__.py").write_text("")
    (folder / "rules" / "__pycache__").mkdir()
    (folder / "lib" / "inner.py").write_text("")
    wheel = make_wheel(folder, "tool", "")
    files = [folder / "shop.py", folder / "lib", folder / "rules", wheel]
    assert write_bundle(files, folder / "a.tar") == ("0", "1/lib", "2/rules", "2", "3")
    write_bundle(files, folder / "b.tar")
    assert (folder / "a.tar").read_bytes() == (folder / "b.tar").read_bytes()
    with tarfile.open(folder / "a.tar") as bundle:
        names = {member.name for member in bundle if member.isfile()}
    assert {"0/shop.py", "1/lib/inner.py", "2/rules/__init__.py", "3/tool.py"} <= names
    assert not any("__pycache__" in name for name in names)


def test_a_link_that_leads_nowhere_is_left_out_of_a_bundle(folder: Path) -> None:
    (folder / "lib" / "inner.py").write_text("")
    (folder / "lib" / ".#inner.py").symlink_to("user@host.1:2")  # as editors lock files
    write_bundle([folder / "lib"], folder / "a.tar")
    with tarfile.open(folder / "a.tar") as bundle:
        assert bundle.getnames() == ["0/lib", "0/lib/inner.py"]


def test_an_archive_of_modules_whose_members_lead_out_of_it_is_refused(folder: Path) -> None:
    with zipfile.ZipFile(folder / "rules.zip", "w") as archive:
        archive.writestr("../../rules.py", "")
    with pytest.raises(ConfigError, match=r"rules\.zip has '\.\./\.\./rules\.py', which leads out of it"):
        write_bundle([folder / "rules.zip"], folder / "a.tar")


def test_a_broken_archive_of_modules_is_named(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.zip cannot be read as an archive of modules"):
        write_bundle([folder / "model.zip"], folder / "a.tar")
