"""The standard output of the driver, for the workers of an embedded session.

Spark gives its workers pipes of their own, and copies what they print to standard error. The workers of an embedded
session run on the driver's machine, so a task asks it for its standard output itself, on a socket in a folder of this
user: what is printed is on its way with the one system call that any print costs, to a terminal, a file or a pipe.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO, final

VARIABLE: Final = "HEADGATE_DRIVER_OUTPUT"
"""Environment variable with the path of the socket; workers get it from the JVM that they are started by."""
_STDOUT: Final = 1
_ANSWER_S_MAX: Final = 10.0


@final
class OutputEndpoint:
    """Hands the standard output of this process to who asks on the socket. A task asks once, when it starts."""

    def __init__(self, path: Path) -> None:
        """Raises OSError when no socket can have that path."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(128)
        threading.Thread(target=self._serve, name="headgate-output", daemon=True).start()

    def close(self) -> None:
        """Hand it out no more."""
        with contextlib.suppress(OSError):  # which Linux needs, to end the waiting of `accept`
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                asking, _ = self._listener.accept()
            except OSError:
                self._listener.close()  # a task that asks is then refused at once, and prints to its own output
                return
            with asking, contextlib.suppress(OSError):  # the task is gone, or this process has no standard output
                socket.send_fds(asking, [b"1"], [_STDOUT])


@contextlib.contextmanager
def output_of_driver() -> Iterator[None]:
    """Print to the standard output of the driver while the block runs, if it is the driver of an embedded session."""
    own = sys.stdout
    output = _ask()
    if output is None:
        yield
        return
    sys.stdout = output
    try:
        yield
    finally:
        sys.stdout = own
        with contextlib.suppress(OSError):  # who has read it is gone
            output.close()


def _ask() -> TextIO | None:
    path = os.environ.get(VARIABLE)
    if path is None:
        return None
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(_ANSWER_S_MAX)
            asking.connect(path)
            _, numbers, _, _ = socket.recv_fds(asking, 1, 1)
    except OSError:
        return None
    encoding = sys.stdout.encoding
    return open(numbers[0], "w", buffering=1, encoding=encoding, errors="backslashreplace") if numbers else None
