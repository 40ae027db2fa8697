"""Records of a batch are read where user code is called, and nowhere else: all else works on batches of either form."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.tidy.sources import PACKAGE, name, parse

WITHOUT = ("dataflow", "runtime", "batch", "checkpoint")
CALLS_USER_CODE = {"batch/column_of.py"}

FILES = [
    path
    for part in WITHOUT
    for path in sorted((PACKAGE / part).rglob("*.py"))
    if str(path.relative_to(PACKAGE)) not in CALLS_USER_CODE
]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_records_are_read(path: Path) -> None:
    owners = {"self.pace", "ending", "self", "message", "self._sent", "pace", "traffic"}
    found = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and node.attr == "records" and ast.unparse(node.value) not in owners
    ]
    assert found == [], "use what Batch offers: piece, take, deal, append, encode"
