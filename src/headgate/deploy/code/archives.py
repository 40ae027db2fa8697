"""Archives that are to be unpacked where slots run: whether they can be."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path
from typing import Final

from headgate.errors import EnvironmentFault

_ZIPPED: Final = (".zip", ".jar")
_CHUNK_BYTES: Final = 2**20


def check_whole(archive: Path) -> None:
    """Read an archive to its end. Raises EnvironmentFault when it is damaged, or not what its name says.

    Given such an archive, Spark would have all tasks of the session fail from then on, of any job.
    """
    read = _read_zip if archive.name.endswith(_ZIPPED) else _read_tar
    try:
        read(archive)
    except Exception as error:  # what a damaged file leads to is up to the standard library
        raise EnvironmentFault(f"{archive} cannot be unpacked: {error}. Make it again") from error


def _read_zip(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        damaged = opened.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"what it has as {damaged} is damaged")


def _read_tar(archive: Path) -> None:
    # By its name, as Spark does: Python would find out for itself whether it is compressed.
    with tarfile.open(archive, "r:gz" if archive.name.endswith("gz") else "r:") as opened:
        for _ in opened:
            pass
        while opened.fileobj is not None and opened.fileobj.read(_CHUNK_BYTES):
            pass
