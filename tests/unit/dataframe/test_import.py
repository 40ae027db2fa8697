"""`import headgate.dataframe` is quick: it loads what builds plans, and nothing that runs them."""

from __future__ import annotations

import subprocess
import sys

LATER = {
    "asyncio",
    "pandas",
    "polars",
    "pyspark",
    "sqlglot",
    "headgate.columns.functions.all_functions",
    "headgate.connectors.files.source",
    "headgate.datastream",
    "headgate.deploy",
    "headgate.graph",
    "headgate.operators",
    "headgate.runtime",
    "headgate.state",
}


def test_the_import_loads_nothing_that_runs_jobs() -> None:
    program = "import sys, headgate.dataframe; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert set(found.split()) & LATER == set()
