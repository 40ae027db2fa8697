"""Packages of a file of requirements, installed by pip into a folder of the user's cache, once for each text."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from headgate.deploy.code.bundle import without_owner
from headgate.deploy.code.program_code import Requirements
from headgate.errors import EnvironmentFault

_LINES_SHOWN: Final = 12


@final
@dataclass(frozen=True, slots=True)
class Installed:
    """Packages as a folder, and the same as an archive (.tar.gz)."""

    folder: Path
    archive: Path


def installed(wanted: Requirements) -> Installed:
    """Return the packages. Blocks while pip installs them, unless it has done so before.

    Raises EnvironmentFault when there is no pip, or when it fails.
    """
    cache = _cache()
    name = _name(wanted)
    found = Installed(cache / name / "packages", cache / name / "packages.tar.gz")
    if not found.archive.is_file():
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="new-") as folder:
            new = Path(folder) / name
            _install(wanted, new / "packages")
            with tarfile.open(new / "packages.tar.gz", "w:gz", compresslevel=1) as archive:
                archive.add(new / "packages", ".", filter=without_owner)
            _move(new, cache / name, found)
    return found


def _move(new: Path, folder: Path, found: Installed) -> None:
    try:
        new.rename(folder)
    except OSError:
        if not found.archive.is_file():  # else another driver was quicker
            shutil.rmtree(folder)
            new.rename(folder)


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "headgate" / "requirements"


def _name(wanted: Requirements) -> str:
    """Return a name for what pip would install: by the text, the folder of packages, Python and the machine."""
    told = [sys.version, platform.platform()]
    if wanted.packages is not None:
        facts = ((path.name, path.stat()) for path in sorted(wanted.packages.iterdir()))
        told += [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in facts]
    content = wanted.file.read_bytes()  # pip finds out in which encoding it is
    return hashlib.sha256(b"\n".join([content, *map(str.encode, told)])).hexdigest()[:32]


def _install(wanted: Requirements, folder: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise EnvironmentFault(
            f"pip is to install the requirements of {wanted.file}, but {sys.executable} has no pip: install it in the "
            "driver's environment, or ship one that has the packages (headgate pack)"
        )
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += ["--target", str(folder), "-r", str(wanted.file)]
    if wanted.packages is not None:
        command += ["--no-index", "-f", str(wanted.packages)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        told = "\n".join(done.stdout.strip().splitlines()[-_LINES_SHOWN:])
        raise EnvironmentFault(f"pip cannot install the requirements of {wanted.file} on the driver's machine:\n{told}")
    folder.mkdir(exist_ok=True)  # for requirements of nothing
