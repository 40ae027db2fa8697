"""What two runs of the cases have printed, side by side."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict, final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
PYFLINK: Final = HERE / "pyflink.json"
REASONS: Final = HERE / "reasons.json"
TABLE: Final = ROOT / "docs" / "results" / "pyflink.txt"
_WIDTH: Final = 60
_ADDRESS: Final = re.compile(r"0x[0-9a-f]+")


class Printed(TypedDict, total=False):
    """What a case has printed, line by line, or the class of its error."""

    lines: list[str]
    error: str


Run = dict[str, Printed]


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A case, what each has printed, and why they may differ."""

    case: str
    pyflink: Printed
    headgate: Printed
    reason: str

    @property
    def is_equal(self) -> bool:
        """Whether both have printed the same, or both have failed."""
        if "error" in self.pyflink or "error" in self.headgate:
            return "error" in self.pyflink and "error" in self.headgate
        return self.pyflink["lines"] == self.headgate["lines"]


def ran() -> Run:
    """Return what headgate prints, in a process of its own. Blocks for some ten seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "headgate.json")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        script = [sys.executable, str(HERE / "run_cases.py"), "headgate", str(out)]
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
        found: Run = json.loads(out.read_text())
        return found


def compared(headgate: Run) -> list[Row]:
    """Return all cases, of which PyFlink's part is the recorded one."""
    pyflink: Run = json.loads(PYFLINK.read_text())
    reasons: dict[str, str] = json.loads(REASONS.read_text())
    nothing: Printed = {"lines": []}
    return [
        Row(case, pyflink.get(case, nothing), headgate.get(case, nothing), reasons.get(case, ""))
        for case in sorted(pyflink.keys() | headgate.keys())
    ]


def failures(rows: list[Row]) -> list[str]:
    """Return what is wrong: cases that differ without a reason, and reasons of cases that do not differ."""
    wrong = [
        f"{row.case}: PyFlink {_text(row.pyflink)}, headgate {_text(row.headgate)}" for row in rows if _differs(row)
    ]
    needless = [f"{row.case} is equal, but has the reason: {row.reason}" for row in rows if row.is_equal and row.reason]
    return wrong + needless


def _differs(row: Row) -> bool:
    return not row.is_equal and not row.reason


def table(rows: list[Row]) -> str:
    """Return the table of all cases."""
    equal = sum(row.is_equal for row in rows)
    lines = [
        f"{len(rows)} programs by PyFlink 2.3 and by headgate: {equal} equal, {len(rows) - equal} differ for a reason."
    ]
    lines += ["", "What differs:", ""]
    for row in rows:
        if not row.is_equal:
            lines += [row.case, f"  PyFlink   {_text(row.pyflink)}", f"  headgate  {_text(row.headgate)}"]
            lines += [f"  because   {row.reason}", ""]
    lines += ["What is equal:", ""]
    lines += [f"{row.case:{_WIDTH}} {_text(row.headgate)}" for row in rows if row.is_equal]
    return "\n".join(lines) + "\n"


def _text(printed: Printed) -> str:
    if "error" in printed:
        return "fails"
    lines = " | ".join(printed["lines"])
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in _ADDRESS.sub("0x...", lines))
