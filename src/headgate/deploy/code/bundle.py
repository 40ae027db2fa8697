"""Writes the files that a program ships into archives: modules are in numbered folders, so that none hides another."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from headgate.deploy.code.archives import leads_out
from headgate.deploy.code.cached_files import CachedFile
from headgate.errors import ConfigError

_NOT_SHIPPED: Final = frozenset({"__pycache__", ".git", ".venv"})


def write_bundle(files: Sequence[Path], target: Path) -> tuple[str, ...]:
    """Write the files to `target`, a .tar. Return its folders for the module path, in order.

    Equal files give equal bytes. Raises ConfigError for an archive that cannot be read.
    """
    folders: list[str] = []
    with tarfile.open(target, "w", dereference=True) as bundle:
        for number, file in enumerate(files):
            folders += [f"{number}/{name}".rstrip("/") for name in _add(bundle, file, str(number))]
    return tuple(folders)


def write_cached(file: CachedFile, target: Path) -> None:
    """Write one file or folder to `target`, a .tar, under its registered name."""
    with tarfile.open(target, "w", dereference=True) as bundle:
        bundle.add(file.path, file.name, filter=_runnable if file.is_executable else without_owner)


def _add(bundle: tarfile.TarFile, file: Path, folder: str) -> Iterator[str]:
    """Add a file to a folder of the bundle. Yield the folders, relative to it, for the module path."""
    if file.is_file() and file.suffix != ".py":
        _add_unpacked(bundle, file, folder)
        yield ""
        return
    for path in _walk(file):
        bundle.add(path, f"{folder}/{path.relative_to(file.parent)}", recursive=False, filter=without_owner)
    if file.is_dir():
        yield file.name
    if file.is_file() or (file / "__init__.py").is_file():
        yield ""


def _walk(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir():
        for below in sorted(path.iterdir()):
            if below.name not in _NOT_SHIPPED and below.exists():  # editors leave broken links
                yield from _walk(below)


def _add_unpacked(bundle: tarfile.TarFile, file: Path, folder: str) -> None:
    """Add the members of an archive of modules: Python loads compiled modules only from files."""
    try:
        with zipfile.ZipFile(file) as archive:
            for name in sorted(name for name in archive.namelist() if not name.endswith("/")):
                if leads_out(name):
                    raise ConfigError(f"python.files: {file} has {name!r}, which leads out of it. Make it again")
                content = archive.read(name)
                member = tarfile.TarInfo(f"{folder}/{os.path.normpath(name)}")
                member.size = len(content)
                bundle.addfile(member, io.BytesIO(content))
    except zipfile.BadZipFile as error:
        raise ConfigError(f"python.files: {file} cannot be read as an archive of modules: {error}") from error


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return the member of an archive without its owner: the user who unpacks it owns it."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _runnable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode |= 0o111
    return without_owner(member)
