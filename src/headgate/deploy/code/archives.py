"""Archives of shipped code: writes the files of a program into archives, and checks and unpacks archives.

In a bundle of modules, each file has a numbered folder, so that no module hides another.
"""

from __future__ import annotations

import io
import os
import platform
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from headgate.deploy.code.program_code import CachedFile
from headgate.errors import ConfigError, EnvironmentFault

_NOT_SHIPPED: Final = frozenset({"__pycache__", ".git", ".venv"})
_ZIPPED: Final = (".zip", ".jar")
_CHUNK_BYTES: Final = 2**20


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


def check_whole(archive: Path) -> None:
    """Read an archive to its end. Raises EnvironmentFault if it is damaged, or not of the kind that its name says.

    A damaged archive would make all later tasks of the Spark session fail, of any job.
    """
    read = _read_zip if archive.name.endswith(_ZIPPED) else _read_tar
    try:
        read(archive)
    except Exception as error:  # zipfile and tarfile raise many classes
        raise EnvironmentFault(f"{archive} cannot be unpacked: {error}. Make it again") from error


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into the folder. Blocks.

    Raises EnvironmentFault for a member or a link that leads out of the folder, and for a device. Raises it for every
    tar archive if Python lacks the filter that finds them (before 3.11.4).
    """
    is_zip = archive.name.endswith(_ZIPPED)
    if not (is_zip or hasattr(tarfile, "data_filter")):
        raise EnvironmentFault(
            f"{archive} cannot be unpacked: Python {platform.python_version()} does not check where the members of a "
            "tar archive lead. Use Python 3.11.4 or later, or a .zip archive"
        )
    try:
        if is_zip:
            _check_inside(archive)
            shutil.unpack_archive(archive, folder, "zip")
        else:
            shutil.unpack_archive(archive, folder, filter="data")
    except (tarfile.TarError, shutil.ReadError) as error:
        raise EnvironmentFault(f"{archive} cannot be unpacked: {error}. Make it again") from error


def _check_inside(archive: Path) -> None:
    """Check the names in a zip archive: `shutil` would silently skip members that lead out of the folder."""
    with zipfile.ZipFile(archive) as opened:
        outside = [name for name in opened.namelist() if leads_out(name)]
    if outside:
        raise shutil.ReadError(f"{outside[0]!r} would be extracted outside of its folder")


def leads_out(name: str) -> bool:
    """Return whether the name of a member leads out of the folder of the archive.

    >>> leads_out("/etc/passwd"), leads_out("a/../../b"), leads_out("a/b")
    (True, True, False)
    """
    return name.startswith("/") or ".." in name.split("/")


def _read_zip(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        damaged = opened.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"what it has as {damaged} is damaged")


def _read_tar(archive: Path) -> None:
    # The name decides about compression, as in Spark; Python would detect it from the content.
    with tarfile.open(archive, "r:gz" if archive.name.endswith("gz") else "r:") as opened:
        for _ in opened:
            pass
        while opened.fileobj is not None and opened.fileobj.read(_CHUNK_BYTES):
            pass
