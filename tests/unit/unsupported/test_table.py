"""Every public name of PyFlink either works or is in the table, and the table has no name that works."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from docs.generate import pyflink_names, works
from headgate import unsupported

ALL = [
    (module, path)
    for module, classes in pyflink_names().items()
    for name, members in classes.items()
    for path in (name, *(f"{name}.{member}" for member in members))
]


@pytest.mark.parametrize("module", pyflink_names())
def test_every_name_works_or_raises_the_error_of_the_table(module: str) -> None:
    unknown = []
    for _, path in (name for name in ALL if name[0] == module):
        try:
            works(module, path)
        except (AttributeError, ImportError) as error:
            unknown.append(f"{path}: {error}")
    assert unknown == []


def test_the_table_lists_nothing_that_works() -> None:
    assert [name for name in unsupported.NAMES if _found(name)] == []


def _found(name: str) -> bool:
    """Whether the name leads to something, read as a module and then members of it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(["headgate", *parts[:length]]))
        except ImportError:
            continue
        return _has_members(found, parts[length:])
    return False


def _has_members(found: object, members: list[str]) -> bool:
    try:
        for member in members:
            found = getattr(found, member)
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize(
    "statement",
    [
        "from headgate.datastream.functions import JavaFunctionWrapper",
        "import headgate.table.udf",
        "from headgate.table import StreamTableEnvironment",
        "from headgate.dataframe import read_catalog_table",
        "from headgate.datastream.connectors.pulsar import PulsarSource",
    ],
)
@pytest.mark.slow
def test_an_import_in_a_new_process_says_what_is_missing_and_what_to_use_instead(statement: str) -> None:
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, timeout=300, check=False)
    assert "UnsupportedImportError" in done.stderr
    assert "not supported" in done.stderr
    assert "docs/reference/compat.md" in done.stderr
