"""The files that the tidiness tests look at."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "headgate"
_FOLDERS = ["src", "tests", "bench", "examples", "docs", "requirements", ".ci"]
_TEXT = {
    "",
    ".cfg",
    ".css",
    ".html",
    ".ini",
    ".js",
    ".json",
    ".lock",
    ".md",
    ".py",
    ".sh",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
}
_LEFT_OUT = {".git", "__pycache__", "golden", "headgate.egg-info", "out", "work"}


def text_files() -> list[Path]:
    """Every text file of the project itself, without what building and running leave behind."""
    below = [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*")]
    files = [path for path in [*ROOT.iterdir(), *below] if path.is_file() and path.suffix in _TEXT]
    return sorted(path for path in files if not _LEFT_OUT.intersection(path.relative_to(ROOT).parts))


def python_files() -> list[Path]:
    return [path for path in text_files() if path.suffix == ".py"]


def parse(path: Path) -> ast.Module:
    """The tree of a file. Let go of it before the next: the trees of all files together are millions of nodes."""
    return ast.parse(path.read_text(), filename=str(path))


def name(path: Path) -> str:
    """The path as a reader of a failure wants it: from the project's root."""
    return path.relative_to(ROOT).as_posix()
