"""Installs the packages of a requirements file by pip into a folder of the user's cache, once for each content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from headgate.deploy.code.archives import without_owner
from headgate.deploy.code.program_code import Requirements
from headgate.errors import EnvironmentFault

_LINES_SHOWN: Final = 12
_NAMED: Final = re.compile(
    r"^[ \t]*(?:(-r|-c|--requirement|--constraint)[ \t=]*|(?:-e|--editable)[ \t=]*|.*@[ \t]*file:(?://)?|file:(?://)?)?"
    r"([^\s#;\[]+)",
    re.MULTILINE,
)
"""A line that may name a file or folder, and the option (-r, -c) if the file contains more requirements."""


@final
@dataclass(frozen=True, slots=True)
class Installed:
    """Installed packages, as a folder and as an archive (.tar.gz)."""

    folder: Path
    archive: Path


def installed(wanted: Requirements) -> Installed:
    """Return the packages from the cache. If they are not there, block while pip installs them.

    Raises EnvironmentFault without pip, and if pip fails.
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
        if not found.archive.is_file():  # otherwise another driver installed them meanwhile
            shutil.rmtree(folder)
            new.rename(folder)


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "headgate" / "requirements"


def _name(wanted: Requirements) -> str:
    """Return a name for the packages: a hash of the content, the files it names, the Python and the machine."""
    named = [*_named_in(wanted.file, set()), *filter(None, [wanted.packages])]
    told = [sys.version, platform.platform(), *(fact for path in named for fact in _facts(path))]
    content = wanted.file.read_bytes()  # bytes: pip detects the encoding
    return hashlib.sha256(b"\n".join([content, *map(str.encode, told)])).hexdigest()[:32]


def _named_in(file: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield the files and folders that a requirements file names, also through other requirements files."""
    seen.add(file)
    content = file.read_bytes()
    text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    for option, name in _NAMED.findall(text):
        for path in dict.fromkeys([file.parent / name, Path.cwd() / name]):
            if path.exists():
                yield path
                if option and path.is_file() and path not in seen:
                    yield from _named_in(path, seen)


def _facts(path: Path) -> Iterator[str]:
    """Yield facts that change with the content of a file or folder."""
    for each in sorted([path, *path.rglob("*")]):
        stat = each.stat()
        yield f"{each.relative_to(path)} {stat.st_size} {stat.st_mtime_ns}"


def _install(wanted: Requirements, folder: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise EnvironmentFault(
            f"the requirements of {wanted.file} need pip, but {sys.executable} has none: install it in the "
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
    folder.mkdir(exist_ok=True)  # pip makes no folder without packages
