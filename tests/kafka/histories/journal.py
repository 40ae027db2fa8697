"""What drivers of one job write, prepare and commit: a line for each, in a file that outlives a killed driver."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, final

from tests.kafka.histories.checker import Commit, Transaction, Write


@final
class Journal:
    """A file of lines. Each is there as soon as it is noted, whoever is killed next."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, kind: str, **fields: Any) -> None:
        """Add a line."""
        line = json.dumps({"kind": kind, "at_ns": time.monotonic_ns(), **fields}).encode() + b"\n"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, line)
        finally:
            os.close(file)

    def transactions(self) -> list[Transaction]:
        """Return the transactions that were noted. What was not prepared makes transactions that nobody commits."""
        lines = [json.loads(line) for line in self._path.read_text().splitlines()] if self._path.exists() else []
        open_writes: dict[str, list[Write]] = {}
        writes: dict[str, tuple[Write, ...]] = {}
        fates: dict[str, Commit] = {}
        asked: dict[str, int] = {}
        for line in lines:
            match line["kind"]:
                case "written":
                    open_writes.setdefault(line["writer"], []).extend(Write(*each) for each in line["writes"])
                case "prepared":
                    writes[line["name"]] = tuple(open_writes.pop(line["writer"], ()))
                case "asked":
                    asked.setdefault(line["name"], line["at_ns"])
                    fates.setdefault(line["name"], Commit.UNKNOWN)
                case "done":
                    fates[line["name"]] = Commit.DONE
                case "lost":
                    fates[line["name"]] = Commit.LOST
        found = [
            Transaction(name=name, writes=of_name, commit=fates.get(name, Commit.NEVER), asked_ns=asked.get(name))
            for name, of_name in writes.items()
        ]
        left = [
            Transaction(name=f"open of {writer}", writes=tuple(of_writer), commit=Commit.NEVER)
            for writer, of_writer in open_writes.items()
        ]
        return found + left
