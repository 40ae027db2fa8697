"""What runs the keyed count from Kafka to Kafka: headgate, and PyFlink in its two ways to run Python."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from bench.trial import ROOT, TrialFailedError

PROGRAM: Final = Path(__file__).parent / "keyed_count.py"
PEERS: Final = ROOT / ".venv-peers"
_LOG: Final = "log"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """An interpreter, what the program imports from, and settings of the job."""

    key: str
    name: str
    import_root: str
    python: Path
    options: dict[str, str] = field(default_factory=dict)


def headgate(target: str) -> System:
    """Return headgate as deployed to `target`."""
    return System(
        key="headgate",
        name="headgate",
        import_root="headgate",
        python=Path(sys.executable),
        options={"headgate.deploy.target": target},
    )


def pyflink(key: str, name: str, options: dict[str, str]) -> System:
    """Return PyFlink in its own local cluster."""
    python = PEERS / "bin" / "python"
    own = {
        "pipeline.jars": ";".join(f"file://{jar}" for jar in sorted((PEERS / "jars").glob("*.jar"))),
        "python.executable": str(python),
        "python.client.executable": str(python),
    }
    return System(key=key, name=f"PyFlink, {name}", import_root="pyflink", python=python, options=own | options)


def process_mode() -> System:
    """Return PyFlink as it is by default."""
    return pyflink("process", "process mode", {"python.execution-mode": "process"})


def tuned_process_mode() -> System:
    """Return PyFlink's process mode with bundles and a cache of state for more than all the keys."""
    larger = {"python.fn-execution.bundle.size": "100000", "python.state.cache-size": "100000"}
    return pyflink("tuned", "process mode with larger bundles and cache", {"python.execution-mode": "process"} | larger)


def thread_mode() -> System:
    """Return PyFlink with Python in the threads of the JVM."""
    return pyflink("thread", "thread mode", {"python.execution-mode": "thread"})


def missing_peers() -> str | None:
    """Return what to do before PyFlink can be measured here; None if it is there."""
    return None if (PEERS / ".locked").exists() else "PyFlink is not set up here: run make peers"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """Where the program reads and writes."""

    bootstrap: str
    source: str
    target: str


@final
@dataclass(frozen=True, slots=True)
class Run:
    """A system that runs the program, in a session of processes of its own."""

    system: System
    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise `TrialFailedError` with what the program wrote if it has ended."""
        if self.process.poll() is not None:
            raise TrialFailedError(f"the job on {self.system.name} ended:\n{self.log.read_text()[-5_000:]}")


@contextmanager
def running(system: System, topics: Topics, checkpoint_ms: int, folder: Path) -> Iterator[Run]:
    """Run the program on a system, with parallelism 2, until the block is left; `folder` is empty and its own."""
    options = system.options | {
        "parallelism.default": "2",
        "execution.checkpointing.interval": f"{checkpoint_ms} ms",
        "execution.checkpointing.dir": f"file://{folder}/checkpoints",
        "restart-strategy.type": "none",
    }
    given = {"bootstrap": topics.bootstrap, "source": topics.source, "target": topics.target, "options": options}
    program = with_import_root(system.import_root, folder)
    with (folder / _LOG).open("wb") as log:
        process = subprocess.Popen(
            [str(system.python), str(program), json.dumps(given)],
            env=os.environ | {"PATH": f"{system.python.parent}{os.pathsep}{os.environ['PATH']}"},
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield Run(system, process, folder / _LOG)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def with_import_root(root: str, folder: Path) -> Path:
    """Write the program with another import root, and nothing else changed, to `folder`; return its path."""
    program = folder / PROGRAM.name
    program.write_text(re.sub(r"^from pyflink\b", f"from {root}", PROGRAM.read_text(), flags=re.MULTILINE))
    return program
