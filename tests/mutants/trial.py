"""Trials: a mutant in a copy of the project, and the tests that look at it, in processes of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from tests.mutants.cores import WIDER, Core, Tests
from tests.mutants.mutations import Mutation

COPIED: Final = ("src", "tests", "examples", "docs", "conftest.py", "pyproject.toml")
QUICK: Final = "not spark and not standalone and not slow and not soak"
WHOLE_S_MAX: Final = 1800.0
"""What tests may take that no mutant has slowed down."""
MEMORY_BYTES_MAX: Final = 8 << 30
"""Of addresses: a mutant that collects things for ever ends before the machine is full."""
_PYTEST: Final = (
    "import resource, sys; "
    f"resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES_MAX}, {MEMORY_BYTES_MAX})); "
    "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
)
_PASSED, _FAILED, _INTERRUPTED = 0, 1, 2


@final
@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one mutation, and the core that it is of."""

    core: Core
    module: Path
    mutation: Mutation
    text: str
    """The line, without its indentation."""

    def __str__(self) -> str:
        change = " -> ".join(" ".join(part.split()) for part in (self.mutation.before, self.mutation.after))
        return f"{self.module}:{self.mutation.line}  {change}"


class TrialError(Exception):
    """The tests cannot be run."""


@final
class Copy:
    """A copy of the project for one trial after the other. The project itself is never changed."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder
        for name in COPIED:
            source = root / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / name)

    def limits_s(self, mutants: Sequence[Mutant]) -> dict[Tests, float]:
        """Return how long the tests of mutants may take. Raises `TrialError` when they fail without any. Blocks."""
        found: dict[Tests, float] = {}
        for tests in dict.fromkeys([WIDER, *(mutant.core.tests for mutant in mutants)]):
            began_s = time.monotonic()
            failure = self.failure(tests, WHOLE_S_MAX)
            if failure is not None:
                raise TrialError(f"{' '.join(tests)} fail as they are:\n{failure}")
            found[tests] = 60.0 + 5 * (time.monotonic() - began_s)
        return found

    def is_killed(self, mutant: Mutant, limits_s: Mapping[Tests, float]) -> bool:
        """Return whether a test fails with the mutant, or does not end. Blocks."""
        with self._changed(mutant):
            return any(self.failure(tests, limits_s[tests]) is not None for tests in (mutant.core.tests, WIDER))

    @contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[None]:
        path = self._folder / mutant.module
        source = path.read_text()
        path.write_text(mutant.mutation.applied(source))
        try:
            yield
        finally:
            path.write_text(source)

    def failure(self, tests: Tests, most_s: float) -> str | None:
        """Return why these tests do not pass in time, None when they do. Raises `TrialError` without any. Blocks.

        Byte code is kept in the copy. It takes pytest more than a second to start, so that Python sees by the time of a
        module that the module has changed.
        """
        options = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-m", QUICK]
        process = subprocess.Popen(
            [sys.executable, "-c", _PYTEST, *options, *tests],
            cwd=self._folder,
            env=os.environ | {"PYTHONPATH": str(self._folder / "src"), "PYTHONHASHSEED": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=most_s)
        except subprocess.TimeoutExpired:
            return f"not over after {most_s:.0f} s"
        finally:
            _end(process)
        if process.returncode not in (_PASSED, _FAILED, _INTERRUPTED):
            raise TrialError(f"pytest {' '.join(tests)} ended with {process.returncode}:\n{said}")
        return None if process.returncode == _PASSED else said


def _end(process: subprocess.Popen[str]) -> None:
    """End the process with all that it has started and left behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
