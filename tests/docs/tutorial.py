"""Follows the tutorial as a reader does: saves its files, enters its commands, compares what they print."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headgate import native
from headgate.deploy.spark.java import ensure_java
from headgate.testing.servers.ports import free_ports
from tests.docs.blocks import active_environment

_STEP: Final = re.compile(r"(?:<!-- ([^>]+) -->\n)?```(python|sh|text)\n(.*?)```", re.DOTALL)
_LOOKS: Final = ("headgate list", "python check.py", "cat ", "headgate ui")
"""Commands that change nothing: entered until they print what the tutorial says."""
DEADLINE_S: Final = 240.0


@dataclass
class Reader:
    """A reader with a folder, whose terminals run what goes on."""

    folder: Path
    terminals: list[subprocess.Popen[bytes]] = field(default_factory=list)
    port: int = field(default_factory=lambda: free_ports(1)[0])

    def follow(self, page: str) -> None:
        """Do all that the page says. Raises AssertionError when a command does not print what is said."""
        steps = _STEP.findall(page)
        for (mark, language, content), (_, following, said) in zip(steps, [*steps[1:], ("", "", "")], strict=True):
            if language == "python":
                self._save(mark, content)
            elif language == "sh" and not mark.startswith("not run"):
                self._enter(mark, content.strip(), said if following == "text" else None)

    def _save(self, mark: str, content: str) -> None:
        verb, _, rest = mark.partition(": ")
        name, _, before = rest.partition(", before: ")
        path = self.folder / name
        if verb == "file":
            path.write_text(content)
            return
        text = path.read_text()
        assert f"\n{before}" in text, f"{name} has no line that begins with {before!r}"
        path.write_text(text.replace(f"\n{before}", f"\n{content}{before}", 1))

    def _enter(self, mark: str, command: str, said: str | None) -> None:
        if mark == "goes on":
            self._begin(command)
        elif mark == "kills a slot":
            os.kill(self._slot(), signal.SIGKILL)
            self._until("headgate checkpoints fleet", lambda printed: "restored 1" in printed)
        elif command.startswith(_LOOKS):
            assert said is not None
            self._until(command, lambda printed: words(printed) == words(said))
        else:
            printed = self._run(command)
            if said is not None:
                assert words(printed) == words(said), printed
            assert "minicluster" not in command or printed == said
        if command.startswith(("headgate stop", "headgate cancel")):
            self.terminals[-1].wait(DEADLINE_S)

    def _begin(self, command: str) -> None:
        with (self.folder / f"terminal-{len(self.terminals)}.log").open("wb") as log:
            self.terminals.append(
                subprocess.Popen(
                    ["bash", "-c", f"exec {self._here(command)}"],
                    cwd=self.folder,
                    env=self._environ(),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )

    def _slot(self) -> int:
        told = json.loads(self._run("headgate describe fleet --json"))
        return int(told["environment"]["slots"][0]["pid"])

    def _until(self, command: str, seen: Callable[[str], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not seen((done := self._entered(command)).stdout):
            assert time.monotonic() < deadline, self._told(done)
            time.sleep(0.3)

    def _run(self, command: str) -> str:
        done = self._entered(command)
        assert done.returncode == 0, self._told(done)
        return done.stdout

    def _entered(self, command: str) -> subprocess.CompletedProcess[str]:
        shell = ["bash", "-c", command]
        return subprocess.run(
            shell, cwd=self.folder, env=self._environ(), capture_output=True, text=True, check=False, timeout=DEADLINE_S
        )

    def _told(self, done: subprocess.CompletedProcess[str]) -> str:
        logs = "".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("terminal-*.log")))
        return f"{done.args[-1]} printed\n{done.stdout}{done.stderr}{logs}"

    def _here(self, command: str) -> str:
        return command.replace(":7077", f":{self.port}").replace("--port 7077", f"--port {self.port}")

    def _environ(self) -> dict[str, str]:
        return {**active_environment(), "JAVA_HOME": str(ensure_java())}

    def close(self) -> None:
        """End what goes on, as Ctrl-C does."""
        for terminal in reversed(self.terminals):
            if terminal.poll() is None:
                terminal.send_signal(signal.SIGINT)
                terminal.wait(60)


def words(text: str) -> list[str]:
    """Return the words of a text that are the same in each run: no number but 0, no path, the name of no host."""
    named = text.replace(socket.gethostname(), "laptop").replace(native.describe().split()[0], "compiled")
    return [word for word in named.split() if not re.search(r"[1-9/]", word)]
