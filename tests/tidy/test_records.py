"""Records of a batch are read where user code is called, and nowhere else: all else works on batches of either form."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.sources import PACKAGE, name, parse

WITHOUT = ("dataflow", "runtime", "batch", "checkpoint")
CALLS_USER_CODE = {"batch/column_of.py"}

OWNERS = {"self.pace", "end_plan", "self", "message", "self._sent", "pace", "traffic"}


def files() -> Iterator[Path]:
    """Every file in which no records may be read."""
    for part in WITHOUT:
        paths = sorted((PACKAGE / part).rglob("*.py"))
        yield from (path for path in paths if path.relative_to(PACKAGE).as_posix() not in CALLS_USER_CODE)


def test_no_records_are_read() -> None:
    found = [
        f"{name(path)}:{node.lineno} {ast.unparse(node)}"
        for path in files()
        if ".records" in path.read_text()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and node.attr == "records" and ast.unparse(node.value) not in OWNERS
    ]
    assert found == [], "use what Batch offers: piece, take, deal, append, encode"
