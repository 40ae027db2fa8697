"""The code that a program ships with its job, read from the settings and checked against the driver's disk."""

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
    """An archive of the driver's, and the name of the folder it is unpacked to."""

    path: Path
    folder: str


@final
@dataclass(frozen=True, slots=True)
class Requirements:
    """A file of requirements, and the folder that has their packages; None: pip looks for them as it always does."""

    file: Path
    packages: Path | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCode:
    """What a program ships. Paths are absolute; of `files` the first wins."""

    files: tuple[Path, ...] = ()
    archives: tuple[Archive, ...] = ()
    cached: tuple[CachedFile, ...] = ()
    requirements: Requirements | None = None
    executable: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether slots run with what is there anyway."""
        return self == ProgramCode()


def program_code(settings: Settings) -> ProgramCode:
    """Return what the settings give. Raises ConfigError for a path that is not there, or cannot be used."""
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
    """Return the absolute path of something that modules are imported from. Raises ConfigError if it is not."""
    found = local_path(PYTHON_FILES, path)
    if not found.is_dir() and not found.name.endswith((".py", *MODULE_ARCHIVE_SUFFIXES)):
        raise ConfigError(
            f"{PYTHON_FILES.key}: Python imports nothing from {found}: give a module (.py), a folder, or an archive of "
            f"modules ({', '.join(MODULE_ARCHIVE_SUFFIXES)}); other files travel as python.archives"
        )
    return found


def archive(text: str) -> Archive:
    """Return the archive that a path, with or without `#folder`, names. Raises ConfigError if it is none."""
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
    """Return the requirements of a file. Raises ConfigError when it, or the folder of packages, is not there."""
    found = local_path(PYTHON_REQUIREMENTS, file)
    if not found.is_file():
        raise ConfigError(f"{PYTHON_REQUIREMENTS.key}: {found} is not a file of requirements")
    if packages is None:
        return Requirements(found, None)
    folder = local_path(PYTHON_REQUIREMENTS, packages)
    if not folder.is_dir():
        raise ConfigError(f"{PYTHON_REQUIREMENTS.key}: {folder} is not a folder of packages")
    return Requirements(found, folder)
