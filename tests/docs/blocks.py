"""The code blocks of the documentation: what they are, what they print, and how they are run."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial"
"""Its programs build on each other: they are run together."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MINICLUSTER = "-Dheadgate.deploy.target=minicluster"
SPARK_MIN = 3

_NEEDS = r"(?:<!-- needs (\w+) -->\n)?"
_ON_SPARK = r"(?:(<!-- runs on Spark)(?: (\d))? -->\n)?"
_BLOCK = re.compile(rf"{_ON_SPARK}{_NEEDS}```(python|text)\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A program in a page, and what the page says that it prints (None: nothing is said).

    `spark` is the major version that it needs, after a line `<!-- runs on Spark -->` or `<!-- runs on Spark 4 -->`; 0:
    none. `needs` is the server that has to be there, after a line `<!-- needs postgres -->`: a fixture of these tests.
    """

    page: Path
    number: int
    code: str
    printed: str | None
    spark: int
    needs: str | None

    def __str__(self) -> str:
        return f"{self.page.name}-{self.number}"


def blocks(page: Path) -> list[Block]:
    """Return the programs of a page. A block of text after a program is its output."""
    found: list[Block] = []
    for on_spark, major, needs, language, content in _BLOCK.findall(page.read_text()):
        if language == "python":
            spark = int(major or SPARK_MIN) if on_spark else 0
            found.append(Block(page, len(found) + 1, content, None, spark, needs or None))
        elif found and found[-1].printed is None:
            last = found.pop()
            found.append(Block(last.page, last.number, last.code, content, last.spark, last.needs))
    return found


def all_blocks(*, on_spark: bool) -> list[Block]:
    """Return the programs of all pages that run on Spark, or those that do not; none that needs a server."""
    return [block for block in _all() if bool(block.spark) is on_spark and not block.needs]


def blocks_with_server() -> list[Block]:
    """Return the programs of all pages that need a server."""
    return [block for block in _all() if block.needs]


def _all() -> list[Block]:
    return [block for page in PAGES if page.parent != TUTORIAL for block in blocks(page)]


def run_here(program: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run a program in this process, on a MiniCluster."""
    monkeypatch.setattr("sys.argv", [str(program), *arguments, MINICLUSTER])
    runpy.run_path(str(program), run_name="__main__")


def active_environment() -> dict[str, str]:
    """Return the variables of a user in the active virtual environment of these tests."""
    return {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}


def run_apart(program: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program as a user does, in an active virtual environment. Fails the test if the program fails."""
    command = [sys.executable, str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=active_environment(), cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done
