"""Why Spark could not compute a DataFrame, in a sentence or two."""

from __future__ import annotations

import re
from typing import Final

from headgate.deploy.spark.jvm_loss import report_of
from headgate.deploy.spark.stage_error import explain

_CONTEXT: Final = "=== Streaming Query ==="
"""What comes after the error of a streaming query: its plan, and offsets."""
_CAUSE: Final = re.compile(r"^Caused by: (?:[\w$]+\.)*[\w$]+: (.+)$", re.MULTILINE)


def reason_of(error: Exception) -> str:
    """Return what an error says, and its first cause where that says more, as why a file cannot be read."""
    report = report_of(error).partition(_CONTEXT)[0]
    told = explain(report).strip()
    causes = [] if "Traceback" in report else _CAUSE.findall(report)
    return told if not causes or causes[-1] in told else f"{told} (caused by: {explain(causes[-1])})"
