"""The standard output of the driver, for the workers of an embedded session.

Spark connects the output of its workers to pipes and copies it to standard error. The workers of an embedded session
run on the driver's machine. So a task gets the file descriptor of the driver's standard output through a socket in a
folder of this user. A print then costs one system call, as in any process.
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
"""Environment variable with the path of the socket. Workers inherit it from the JVM."""
_STDOUT: Final = 1
_ANSWER_S_MAX: Final = 10.0


@final
class OutputEndpoint:
    """Sends the file descriptor of standard output to each process that connects to the socket.

    A task connects once.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError if no socket can have this path."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(128)
        threading.Thread(target=self._serve, name="headgate-output", daemon=True).start()

    def close(self) -> None:
        """Close the socket."""
        with contextlib.suppress(OSError):  # on Linux, close() does not end a waiting accept()
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                asking, _ = self._listener.accept()
            except OSError:
                self._listener.close()  # later tasks are refused and print to their own output
                return
            with asking, contextlib.suppress(OSError):  # the task has ended, or this process has no stdout
                socket.send_fds(asking, [b"1"], [_STDOUT])


@contextlib.contextmanager
def output_of_driver() -> Iterator[None]:
    """Redirect `sys.stdout` to the driver's standard output inside the block. Does nothing without an endpoint."""
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
        with contextlib.suppress(OSError):  # the reader has ended
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
