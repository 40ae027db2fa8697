"""The code that a program ships with its job: read from the settings, with paths checked on the driver."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from headgate.config import Settings
from headgate.deploy.code.cached_files import CachedFile, cached_files, local_path
from headgate.errors import ConfigError
from headgate.options import CACHED_FILES, PYTHON_ARCHIVES, PYTHON_EXECUTABLE, PYTHON_FILES, PYTHON_REQUIREMENTS

ARCHIVE_SUFFIXES: Final = (".zip", ".jar", ".tar", ".tar.gz", ".tgz")
MODULE_ARCHIVE_SUFFIXES: Final = (".zip", ".whl", ".egg")
SEPARATOR: Final = ","
FOLDER_MARK: Final = "#"
_FOLDER: Final = re.compile(r"[^/\\\\]+")


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
