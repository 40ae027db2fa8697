"""An engine that runs: a process that is told queries line by line, and what they cost it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import psutil

from figures.engines import HERE, ROOT, WORK, Engine

TIMEOUT_S = 300.0


class QueryFailed(Exception):
    """A query has not been run; says why."""


class Running:
    """An engine that runs; `run` has it run a query."""

    def __init__(self, engine: Engine) -> None:
        self._log = WORK / f"{engine.program}.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [str(engine.python), str(HERE / engine.program), json.dumps(engine.options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join([str(engine.modules), str(ROOT / "src")])},
                start_new_session=True,
            )

    def run(self, query: str, events: Path, results: Path | None = None) -> float:
        """Return the seconds of CPU time that a query took, in all processes. Raises `QueryFailed`.

        `results` is the file that gets its results; without one they are dropped.
        """
        before_s = self._cpu_s()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(" ".join([query, str(events), str(results or "")]).strip().encode() + b"\n")
            self._process.stdin.flush()
            self._wait()
        except BrokenPipeError as error:
            raise self._failure() from error
        return self._cpu_s() - before_s

    def close(self) -> None:
        """End all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _wait(self) -> None:
        assert self._process.stdout is not None
        due_s = time.monotonic() + TIMEOUT_S
        while select.select([self._process.stdout], [], [], max(0.0, due_s - time.monotonic()))[0]:
            line = self._process.stdout.readline()
            if line == b"done\n":
                return
            if not line:
                raise self._failure()
        raise QueryFailed(f"took more than {TIMEOUT_S:.0f} s")

    def _failure(self) -> QueryFailed:
        lines = re.findall(r"^[\w.]+(?:Error|Exception)\b.*", self._log.read_text(errors="replace"), re.MULTILINE)
        return QueryFailed(lines[-1] if lines else f"it ended; see {self._log}")

    def _cpu_s(self) -> float:
        """Return the CPU time so far of all processes, also of those that have ended."""
        root = psutil.Process(self._process.pid)
        spent_s = 0.0
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                spent_s += sum(process.cpu_times()[:4])
        return spent_s
