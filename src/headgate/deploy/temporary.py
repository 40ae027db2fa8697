"""Storage of a job whose settings name none: a folder that goes with the driver."""

from __future__ import annotations

import logging
import tempfile

from headgate import options
from headgate.graph.job_graph import JobGraph

_log = logging.getLogger(__name__)


def temporary_storage(plan: JobGraph) -> tempfile.TemporaryDirectory[str]:
    """Make the folder; say so when checkpoints go there, as no later driver can go on from them."""
    folder = tempfile.TemporaryDirectory(prefix="headgate-")
    if plan.checkpointing:
        _log.warning(
            "checkpoints of job %s are in the temporary folder %s and end with this process: set %s to keep them",
            plan.job_name,
            folder.name,
            options.CHECKPOINT_DIR.key,
        )
    return folder
