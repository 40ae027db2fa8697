"""The cores: what decides that state is right after a failure, and the tests that look at each part of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, final

Tests: TypeAlias = tuple[str, ...]

PACKAGE: Final = Path("src/headgate")
WIDER: Final = (
    "tests/unit/runtime",
    "tests/unit/operators",
    "tests/unit/savepoints",
    "tests/traces",
    "tests/property",
    "tests/scenarios",
    "tests/simulation",
)
"""Tests of what the cores are part of: run for mutants that the tests beside them let pass."""


@final
@dataclass(frozen=True, slots=True)
class Core:
    """Modules, as patterns below the package, and the tests beside them."""

    patterns: Sequence[str]
    tests: Tests

    def modules(self, root: Path) -> list[Path]:
        """Return its modules, relative to the root."""
        found = {path.relative_to(root) for each in self.patterns for path in (root / PACKAGE).glob(each)}
        return sorted(path for path in found if path.name != "__init__.py")


_STATE: Final = ("tests/unit/state/test_backend_contract.py", "tests/unit/state")
CORES: Final = (
    Core(["checkpoint/alignment/*.py"], ("tests/unit/checkpoint", "tests/traces", "tests/unit/runtime/slot")),
    Core(
        ["checkpoint/coordination/*.py"],
        (
            "tests/unit/checkpoint",
            "tests/traces",
            "tests/unit/runtime/master",
            "tests/unit/runtime/job_storage",
        ),
    ),
    Core(
        [
            "checkpoint/restore/*.py",
            "checkpoint/drivers/*.py",
            "checkpoint/cleanup/*.py",
            "checkpoint/commit.py",
            "checkpoint/manifest.py",
            "checkpoint/seal.py",
        ],
        ("tests/unit/checkpoint", "tests/unit/cli", "tests/unit/runtime/master", "tests/unit/runtime/job_storage"),
    ),
    Core(["time/*.py"], ("tests/unit/time", "tests/unit/state", "tests/unit/operators")),
    Core(
        ["state/keyed/*.py", "state/kinds/forms.py", "state/ttl.py"],
        ("tests/unit/state/keyed", "tests/unit/state/test_ttl.py", *_STATE),
    ),
    Core(["runtime/master/supervisor.py"], ("tests/unit/runtime/master", "tests/traces")),
    Core(["connectors/micro_batches/protocol.py"], ("tests/unit/connectors/micro_batches", "tests/property")),
    Core(["runtime/wire/handshake.py", "runtime/wire/frames.py"], ("tests/unit/runtime/wire",)),
    Core(["graph/*.py"], ("tests/unit/graph", "tests/unit/datastream")),
)
