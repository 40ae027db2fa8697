"""Flink's distributed cache: functions find a registered file by its name in the working folder of their slot."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from headgate.config import Option
from headgate.errors import ConfigError
from headgate.options import CACHED_FILES

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")


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


SEPARATOR: Final = ";"
_NAME: Final = re.compile(r"(?!\.{1,2}$)[^/\\,;:'\"]+")


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
    found = tuple(map(_parse, filter(None, map(str.strip, (text or "").split(SEPARATOR)))))
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
