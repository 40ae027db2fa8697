"""The source distribution and the wheel of this platform, built and tried as users install them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headgate.version import __version__
from tests.docs.blocks import MINICLUSTER, blocks

ROOT: Final = Path(__file__).parents[2]
NEEDED: Final = ("headgate/py.typed", "headgate/_native.pyi", f"headgate-{__version__}.dist-info/licenses/LICENSE")
PIP: Final = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
TELLS: Final = "from headgate import native; print(native.describe())"


def own_environment() -> dict[str, str]:
    """Return the variables of this process without its module path, which has headgate on it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def build_sdist(folder: Path) -> Path:
    """Write the source distribution of this checkout into the folder."""
    build = f"import setuptools.build_meta as backend; backend.build_sdist({str(folder)!r})"
    run([sys.executable, "-W", "ignore", "-c", build], cwd=ROOT)
    (found,) = folder.glob("headgate-*.tar.gz")
    return found


def build_wheel(sdist: Path, folder: Path, environ: dict[str, str] | None = None) -> Path:
    """Write the wheel of this platform into the folder, with the setuptools of the lock file."""
    run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(sdist)], environ=environ)
    (found,) = folder.glob("headgate-*.whl")
    return found


def without_compiler(folder: Path) -> dict[str, str]:
    """Return the environment of a user with nothing but an empty folder on the PATH."""
    empty = folder / "bin-without-compiler"
    empty.mkdir()
    return {name: value for name, value in own_environment().items() if name != "CC"} | {"PATH": str(empty)}


def faults(wheel: Path, *, compiled: bool) -> Iterator[str]:
    """Yield what a wheel lacks, and what it has that users do not need."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    if f"-{tag}-{tag}-" not in wheel.name:
        yield f"{wheel.name} is not for {tag} alone"
    module = {f"headgate/_native{sysconfig.get_config_var('EXT_SUFFIX')}"} if compiled else set()
    if {name for name in names if name.startswith("headgate/_native.") and not name.endswith(".pyi")} != module:
        yield f"the compiled modules in the wheel are not {module or 'none'}"
    yield from (f"{name} is missing" for name in NEEDED if name not in names)
    foreign = sorted(name for name in names if not name.startswith(("headgate/", f"headgate-{__version__}.dist-info/")))
    yield from (f"{name} is not of the package" for name in foreign)


def new_environment(folder: Path) -> Path:
    """Make an empty virtual environment; return its Python."""
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


def install(python: Path, what: Path, *options: str, environ: dict[str, str] | None = None) -> None:
    """Install a wheel or a source distribution into the environment of this Python."""
    run([*PIP, "--python", str(python), "install", *options, str(what)], environ=environ)


def printed(python: Path, folder: Path, code: str, *arguments: str, path: str = "") -> str:
    """Return what a program prints that runs in the environment of this Python, with further modules on the path."""
    program = folder / "program.py"
    program.write_text(code)
    return run([str(python), str(program), *arguments], cwd=folder, environ={"PYTHONPATH": path})


def runs_example(python: Path, folder: Path, native: str, *, path: str = "") -> bool:
    """Return whether the first program of the README prints what the README says."""
    first = blocks(ROOT / "README.md")[0]
    options = [MINICLUSTER, "-Dparallelism.default=1", f"-Dheadgate.native={native}"]
    return printed(python, folder, first.code, *options, path=path) == first.printed


def run(command: list[str], *, cwd: Path | None = None, environ: dict[str, str] | None = None) -> str:
    """Run a command; return what it prints. Raises AssertionError with its errors if it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, cwd=cwd, env=environ or own_environment()
    )
    assert done.returncode == 0, f"{command} failed: {done.stderr}"
    return done.stdout
