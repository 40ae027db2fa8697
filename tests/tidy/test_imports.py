"""Who may import what: the order of the parts, the purity of the cores, and pyspark in one place."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.sources import PACKAGE, ROOT, name, parse

# The machines and rules that tests and the simulator drive with events and a clock of their own.
PURE = [
    "errors.py",
    "ids.py",
    "elements.py",
    "clock.py",
    "config.py",
    "event_history.py",
    "time/**/*.py",
    "graph/**/*.py",
    "checkpoint/alignment/*.py",
    "checkpoint/coordination/*.py",
    *("checkpoint/commit.py", "checkpoint/manifest.py", "checkpoint/messages.py", "checkpoint/seal.py"),
    *("checkpoint/restore/latest.py", "checkpoint/restore/assign.py", "checkpoint/restore/in_flight.py"),
    *("checkpoint/cleanup/retention.py", "checkpoint/cleanup/registry.py", "checkpoint/drivers/epochs.py"),
    "runtime/master/supervisor*.py",
    *("runtime/master/supervisor_vocabulary.py", "runtime/master/restart_strategies.py", "runtime/master/assembly.py"),
    *("runtime/master/allocation.py", "runtime/master/taps.py", "runtime/master/discovery.py"),
    *("runtime/job_storage/finish.py", "runtime/job_storage/location.py"),
    *("runtime/monitoring/outcome.py", "runtime/monitoring/statistics*.py"),
    *("runtime/monitoring/metrics.py", "runtime/control/subtask_metrics.py", "runtime/slot/metrics.py"),
    *("dataflow/pace.py", "connectors/micro_batches/protocol.py"),
    *("batch/stages.py", "batch/column_of.py"),
]
IMPURE = {
    *("time", "datetime", "random", "secrets", "uuid"),
    *("threading", "multiprocessing", "concurrent", "asyncio", "queue", "signal", "sched"),
    *("os", "io", "pathlib", "shutil", "tempfile", "glob", "subprocess", "sqlite3"),
    *("socket", "selectors", "select", "ssl", "http", "urllib"),
    *("pyspark", "pyarrow", "pandas", "numpy", "rocksdict"),
}
IMPURE_CALLS = {"open", "print", "input"}
# Where the system reads its clocks, and names the type of the randomness that it is handed.
ALLOWED = {("clock.py", "time"), ("ids.py", "random")}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and top-level package of each import that runs; those for type checkers only do not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module.partition(".")[0]
        yield from imported(node)


def impurities(tree: ast.Module) -> Iterator[tuple[int, str]]:
    yield from ((line, package) for line, package in imported(tree) if package in IMPURE)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            yield node.lineno, f"{node.func.id}()"


def pure_files() -> list[Path]:
    """The files of all patterns. A pattern without a file is one whose file has moved."""
    found = {pattern: list(PACKAGE.glob(pattern)) for pattern in PURE}
    assert [pattern for pattern, files in found.items() if not files] == []
    return sorted({path for files in found.values() for path in files})


def test_parts_import_only_from_the_parts_below_them() -> None:
    # In a process of its own: it configures logging, and with that switches off loggers that other tests listen to.
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--config",
        str(ROOT / "pyproject.toml"),
        "--no-cache",
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_cores_are_free_of_clocks_threads_and_io() -> None:
    found = [
        f"{name(path)}:{line} {what}"
        for path in pure_files()
        for line, what in impurities(parse(path))
        if (path.relative_to(PACKAGE).as_posix(), what) not in ALLOWED
    ]
    assert found == []


def test_pyspark_is_imported_in_the_spark_deployment_only() -> None:
    outside = [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "deploy" / "spark")]
    named = [path for path in outside if "pyspark" in path.read_text()]
    found = [
        f"{name(path)}:{line}" for path in named for line, package in imported(parse(path)) if package == "pyspark"
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import time", ["time"]),
        ("def late():\n    from os.path import join", ["os"]),
        ("import concurrent.futures", ["concurrent"]),
        ("open('state')", ["open()"]),
        ("from headgate.time import watermarks\nfrom . import time", []),
        ("if TYPE_CHECKING:\n    import pyarrow", []),
    ],
)
def test_purity_rule_sees(code: str, found: list[str]) -> None:
    assert [what for _, what in impurities(ast.parse(code))] == found
