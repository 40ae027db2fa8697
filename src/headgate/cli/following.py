"""A job as it goes on: what its driver tells, read on a thread of its own."""

from __future__ import annotations

import threading
from typing import final

from headgate.cli.client import DriverClient, UnreachableError
from headgate.cli.exits import CommandFailedError
from headgate.runtime.monitoring.statistics_json import Json


@final
class Following:
    """The newest overview of a job, and how it has ended."""

    def __init__(self, client: DriverClient, job_id: str) -> None:
        """Begin to listen. The end of the client ends it."""
        self.newest: Json | None = None
        self.ending: Json | None = None
        """The state that the job has ended in, and its cause, as far as they are known; None while it goes on."""
        self._error: CommandFailedError | UnreachableError | None = None
        threading.Thread(target=self._run, args=(client, job_id), name="headgate-top", daemon=True).start()

    def check(self) -> None:
        """Raise what the driver has refused, or UnreachableError when it has gone without a word."""
        if self._error is not None:
            raise self._error

    def _run(self, client: DriverClient, job_id: str) -> None:
        try:
            for name, told in client.events(f"/jobs/{job_id}/live"):
                if name == "overview":
                    self.newest = told
                else:
                    self.ending = told
            self._error = None if self.ending is not None else UnreachableError("it closed the connection")
        except (CommandFailedError, UnreachableError) as error:
            self._error = error
        except Exception as error:  # noqa: BLE001  # whatever comes of a client that is closed while it reads
            self._error = UnreachableError(str(error))
