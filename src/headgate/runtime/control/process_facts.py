"""Facts about a process that runs a part of a job: where it is, and which versions it has."""

from __future__ import annotations

import os
import platform
import socket
from importlib import metadata

import headgate


def process_facts() -> dict[str, str]:
    """Return the facts about this process. The job master compares the versions of slots with its own."""
    return {
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": ".".join(platform.python_version_tuple()[:2]),
        "pyarrow": metadata.version("pyarrow"),
        "cloudpickle": metadata.version("cloudpickle"),
        "headgate": headgate.__version__,
    }
