"""Checks archives before they are shipped, and unpacks archives in this process."""

from __future__ import annotations

import platform
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Final

from headgate.errors import EnvironmentFault

_ZIPPED: Final = (".zip", ".jar")
_CHUNK_BYTES: Final = 2**20


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
