"""What needs a Spark with Python data sources says so on one that has none."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

from headgate.errors import EnvironmentFault, needs_data_sources

MISSING = "import sys; sys.modules['pyspark.sql.datasource'] = None\n"
"""As in Spark 3.5: Python has no such module."""


def test_other_modules_that_are_missing_are_not_explained() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), needs_data_sources("all this", "do without"):
        importlib.import_module("no_such_module")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("from headgate.datastream.connectors.spark import SparkSink", "SparkSink needs .*4.0 or newer, or write with"),
        ("from headgate.savepoints import register; register()", "'headgate' needs .*4.0 or newer, or use .*to_spark"),
    ],
)
def test_what_to_do_instead_is_said(program: str, told: str) -> None:
    done = subprocess.run([sys.executable, "-c", MISSING + program], capture_output=True, text=True, check=False)
    error = done.stderr.splitlines()[-1]
    assert error.startswith(f"{EnvironmentFault.__module__}.{EnvironmentFault.__name__}: "), done.stderr
    assert re.search(told, error), error
