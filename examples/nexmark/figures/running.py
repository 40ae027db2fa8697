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
    """An engine that runs; `run` has it run a query, and starts it if it does not run."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._log = WORK / f"{engine.program}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, query: str, events: Path, results: Path | None = None) -> float:
        """Return the seconds of CPU time that a query took, in all processes. Raises `QueryFailed`.

        `results` is the file that gets its results; without one they are dropped.
        """
        process = self._process = self._process or self._started()
        assert process.stdin is not None
        before_s = _cpu_s(process)
        try:
            process.stdin.write(" ".join([query, str(events), str(results or "")]).strip().encode() + b"\n")
            process.stdin.flush()
            self._wait(process)
        except BrokenPipeError as error:
            raise self._failure() from error
        return _cpu_s(process) - before_s

    def close(self) -> None:
        """End all its processes."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        engine = self._engine
        with self._log.open("w") as log:
            return subprocess.Popen(
                [str(engine.python), str(HERE / engine.program), json.dumps(engine.options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join([str(engine.modules), str(ROOT / "src")])},
                start_new_session=True,
            )

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        due_s = time.monotonic() + TIMEOUT_S
        while select.select([process.stdout], [], [], max(0.0, due_s - time.monotonic()))[0]:
            line = process.stdout.readline()
            if line == b"done\n":
                return
            if not line:
                raise self._failure()
        raise QueryFailed(f"took more than {TIMEOUT_S:.0f} s")

    def _failure(self) -> QueryFailed:
        lines = re.findall(r"^[\w.]+(?:Error|Exception)\b.*", self._log.read_text(errors="replace"), re.MULTILINE)
        return QueryFailed(lines[-1] if lines else f"it ended; see {self._log}")


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time so far of a process and those below it, also of those that have ended."""
    root = psutil.Process(process.pid)
    spent_s = 0.0
    for each in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            spent_s += sum(each.cpu_times()[:4])
    return spent_s
