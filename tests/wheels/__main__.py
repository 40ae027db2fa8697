"""Build the wheel of this platform and the source distribution, and try both: `python -m tests.wheels --into dist`.

The wheel is installed with its dependencies into an empty environment, where the first program of the README runs
compiled. The source distribution is installed as `pip install` does it, without a compiler, and the program runs in
Python.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.wheels.builds import (
    TELLS,
    build_sdist,
    build_wheel,
    faults,
    install,
    new_environment,
    printed,
    runs_example,
    without_compiler,
)


def tried(what: Path, folder: Path, native: str, environ: dict[str, str] | None = None) -> str:
    """Install into an empty environment, run the program; return which code it ran."""
    python = new_environment(folder)
    install(python, what, environ=environ)
    assert runs_example(python, folder, native), f"{what.name}: the first program of the README prints something else"
    return printed(python, folder, TELLS).strip()


def main() -> None:
    """Build and try. Raises AssertionError for whatever is not as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True, help="the folder for both files")
    into = parser.parse_args().into.absolute()
    for old in into.glob("headgate-*"):
        old.unlink()
    sdist = build_sdist(into)
    wheel = build_wheel(sdist, into)
    assert (found := list(faults(wheel, compiled=True))) == [], f"{wheel.name}: {found}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{wheel.name}: {tried(wheel, folder / 'wheel', 'on')}", flush=True)
        environ = without_compiler(folder)
        print(f"{sdist.name} without a compiler: {tried(sdist, folder / 'sdist', 'auto', environ)}", flush=True)


if __name__ == "__main__":
    main()
