"""The one change that a PyFlink program needs."""

from __future__ import annotations

import re
from pathlib import Path


def with_our_import_root(program: Path, folder: Path) -> Path:
    """Write a program to the folder with its import root replaced; return where."""
    text, count = re.subn(r"^(from|import) pyflink\b", r"\1 headgate", program.read_text(), flags=re.MULTILINE)
    assert count > 0
    replaced = folder / program.name
    replaced.write_text(text)
    return replaced
