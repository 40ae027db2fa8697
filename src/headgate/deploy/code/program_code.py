"""The code that a program ships with its job: read from the settings, with paths checked on the driver.

A *cached file* is a file of Flink's distributed cache: functions find it by its name in the working folder of their
slot.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from headgate.config import Option, Settings
from headgate.errors import ConfigError
from headgate.options import CACHED_FILES, PYTHON_ARCHIVES, PYTHON_EXECUTABLE, PYTHON_FILES, PYTHON_REQUIREMENTS

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")
CACHED_SEPARATOR: Final = ";"
_NAME: Final = re.compile(r"(?!\.{1,2}$)[^/\\,;:'\"]+")
ARCHIVE_SUFFIXES: Final = (".zip", ".jar", ".tar", ".tar.gz", ".tgz")
MODULE_ARCHIVE_SUFFIXES: Final = (".zip", ".whl", ".egg")
SEPARATOR: Final = ","
FOLDER_MARK: Final = "#"
_FOLDER: Final = re.compile(r"[^/\\\\]+")


def local_path(option: Option[str | None], text: str) -> Path:
    """Return the absolute path of a file or folder of the driver. Raises ConfigError if it does not exist."""
    path = text.removeprefix("file://").removeprefix("file:")
    if _SCHEME.match(path):
        raise ConfigError(
            f"{option.key}: {text} is not on the driver's machine: copy it there, or have Spark fetch it (--py-files, "
            "--archives of spark-submit)"
        )
    found = Path(os.path.abspath(path))
    if not found.exists():
        raise ConfigError(f"{option.key}: there is no {found} on the driver's machine")
    return found


@final
@dataclass(frozen=True, slots=True)
class CachedFile:
    """A file or folder of the driver, and its name for functions."""

    path: Path
    name: str
    is_executable: bool = False

    @property
    def entry(self) -> str:
        """The file in the form of the option."""
        return f"name:{self.name},path:{self.path},executable:{str(self.is_executable).lower()}"


def cached_file(path: str, name: str, *, is_executable: bool = False) -> CachedFile:
    """Return the cached file. Raises ConfigError if the path does not exist, or the name is not a file name."""
    if not isinstance(path, str) or not path or any(sign in path for sign in ",;'\""):
        raise ConfigError(
            f"{CACHED_FILES.key}: {path!r} is not a path, or has a comma, a semicolon or a quote: rename it"
        )
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"{CACHED_FILES.key}: {name!r} must be the name of one file, without slashes and , ; : ' \"")
    return CachedFile(local_path(CACHED_FILES, path), name, is_executable)


def cached_files(text: str | None) -> tuple[CachedFile, ...]:
    """Return the files of the option. Raises ConfigError for a missing file, and for two files of one name."""
    found = tuple(map(_parse, filter(None, map(str.strip, (text or "").split(CACHED_SEPARATOR)))))
    names = [file.name for file in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{CACHED_FILES.key} has two files with the name {name}: give each a name of its own")
    return found


def _parse(entry: str) -> CachedFile:
    pairs = (pair.partition(":")[::2] for pair in entry.split(","))
    fields = {key.strip(): value.strip().strip("'\"") for key, value in pairs}
    if not {"name", "path"} <= fields.keys() <= {"name", "path", "executable"}:
        raise ConfigError(f"{CACHED_FILES.key}: {entry!r} is not of the form name:model,path:/data/model.bin")
    return cached_file(fields["path"], fields["name"], is_executable=fields.get("executable", "").lower() == "true")


@final
@dataclass(frozen=True, slots=True)
class Archive:
    """An archive on the driver, and the name of its folder in the working folder of slots."""

    path: Path
    folder: str


@final
@dataclass(frozen=True, slots=True)
class Requirements:
    """A requirements file, and a folder with the packages; None: pip uses its configured index."""

    file: Path
    packages: Path | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCode:
    """The code that a program ships. Paths are absolute. The first of `files` with a module wins."""

    files: tuple[Path, ...] = ()
    archives: tuple[Archive, ...] = ()
    cached: tuple[CachedFile, ...] = ()
    requirements: Requirements | None = None
    executable: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether the program ships no code."""
        return self == ProgramCode()


def program_code(settings: Settings) -> ProgramCode:
    """Return the code that the settings name. Raises ConfigError for a path that does not exist or cannot be used."""
    archives = tuple(map(archive, _split(settings.get(PYTHON_ARCHIVES))))
    folders = [each.folder for each in archives]
    for folder in folders:
        if folders.count(folder) > 1:
            raise ConfigError(f"{PYTHON_ARCHIVES.key} has two archives for the folder {folder}: name another after a #")
    cached = cached_files(settings.get(CACHED_FILES))
    for file in cached:
        if file.name in folders:
            raise ConfigError(
                f"{CACHED_FILES.key} has a file {file.name}, and {PYTHON_ARCHIVES.key} an archive: rename one"
            )
    told = settings.get(PYTHON_REQUIREMENTS)
    return ProgramCode(
        files=tuple(map(module_file, _split(settings.get(PYTHON_FILES)))),
        archives=archives,
        cached=cached,
        requirements=None if told is None else requirements(*_marked(told)),
        executable=settings.get(PYTHON_EXECUTABLE),
    )


def _split(paths: str | None) -> list[str]:
    return [path.strip() for path in (paths or "").split(SEPARATOR) if path.strip()]


def _marked(text: str) -> tuple[str, str | None]:
    path, _, mark = text.partition(FOLDER_MARK)
    return path, mark or None


def module_file(path: str) -> Path:
    """Return the absolute path of a module, folder or archive of modules. Raises ConfigError for another path."""
    found = local_path(PYTHON_FILES, path)
    if not found.is_dir() and not found.name.endswith((".py", *MODULE_ARCHIVE_SUFFIXES)):
        raise ConfigError(
            f"{PYTHON_FILES.key}: Python imports nothing from {found}: give a module (.py), a folder, or an archive of "
            f"modules ({', '.join(MODULE_ARCHIVE_SUFFIXES)}); other files travel as python.archives"
        )
    return found


def archive(text: str) -> Archive:
    """Return the archive for a path with or without `#folder`. Raises ConfigError if it is not an archive."""
    path, folder = _marked(text)
    found = local_path(PYTHON_ARCHIVES, path)
    if not found.is_file() or not found.name.endswith(ARCHIVE_SUFFIXES):
        raise ConfigError(
            f"{PYTHON_ARCHIVES.key}: {found} is not an archive that Spark unpacks: make it one of "
            f"{', '.join(ARCHIVE_SUFFIXES)}"
        )
    name = folder or found.name
    if name in (".", "..") or not _FOLDER.fullmatch(name):
        raise ConfigError(f"{PYTHON_ARCHIVES.key}: {name!r} must be the name of one folder, without slashes")
    return Archive(found, name)


def requirements(file: str, packages: str | None = None) -> Requirements:
    """Return the requirements of a file. Raises ConfigError if the file or the folder of packages does not exist."""
    found = local_path(PYTHON_REQUIREMENTS, file)
    if not found.is_file():
        raise ConfigError(f"{PYTHON_REQUIREMENTS.key}: {found} is not a file of requirements")
    if packages is None:
        return Requirements(found, None)
    folder = local_path(PYTHON_REQUIREMENTS, packages)
    if not folder.is_dir():
        raise ConfigError(f"{PYTHON_REQUIREMENTS.key}: {folder} is not a folder of packages")
    return Requirements(found, folder)
