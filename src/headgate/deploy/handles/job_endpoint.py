"""The endpoint of a running job: the job in this process' REST server, and its address where clients look for it."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.address import (
    DriverAddress,
    RunDirectory,
    remove_address,
    without_credentials,
    write_address,
)
from headgate.checkpoint.file_store import FileSystemStore
from headgate.config import Settings
from headgate.deploy.job_folder import JobFolder
from headgate.errors import HeadgateError
from headgate.ids import JobId
from headgate.web.access import RestConfig, rest_config
from headgate.web.job_view import JobView
from headgate.web.logins import Grant
from headgate.web.server import LINGER_S_MAX, acquire, release

_log = logging.getLogger(__name__)

_PAGE: Final = (
    "headgate: the page of job {job.plan.job_name!r} is at {address}\n"
    "headgate: this address works once; `headgate ui {job.job_id}` makes another"
)
_COMMAND: Final = "headgate: `headgate ui {job.job_id}` opens the page of job {job.plan.job_name!r}"
"""Printed if the output is not a terminal: a login link in a log would let in everyone who reads the log."""


@final
class JobEndpoint:
    """Serves one job from `open` to `close`. Owned by the job's thread."""

    def __init__(self, config: RestConfig) -> None:
        """Use the server of this process with this configuration; start one if there is none.

        Raises EnvironmentFault.
        """
        self._server: Final = acquire(config)
        self._run_directory: Final = RunDirectory.of_user()
        self._job_id: JobId | None = None
        self._folder: JobFolder | None = None
        self._path: str | None = None
        self._announced: DriverAddress | None = None
        self._announcing: threading.Thread | None = None

    def open(self, view: JobView, folder: JobFolder, facts: Mapping[str, str]) -> None:
        """Serve the job. A thread writes its address where clients look for it, while the job starts.

        `facts` describe the platform on which the job runs.
        """
        served = self._server.jobs.add(view, folder.location, facts)
        self._job_id = view.job_id
        self._folder = folder
        config = self._server.config
        address = DriverAddress(
            job_id=view.job_id,
            job_name=view.plan.job_name,
            url=self._server.url,
            token=self._server.entrance.token,
            certificate=None if config.cert is None else Path(config.cert).read_text(),
            host=socket.gethostname(),
            pid=os.getpid(),
            started_ms=served.started_ms,
            storage=None if folder.location is None else without_credentials(folder.location),
        )
        self._announcing = threading.Thread(
            target=self._announce, args=(folder, address), name="headgate-address", daemon=True
        )
        self._announcing.start()
        if config.page.enabled:
            print(self._invitation(view), file=sys.stderr, flush=True)

    def _invitation(self, view: JobView) -> str:
        if not sys.stderr.isatty():
            return _COMMAND.format(job=view)
        return _PAGE.format(job=view, address=self.page_address(framed=False))

    def page_address(self, *, framed: bool) -> str | None:
        """Return a URL that logs one browser in, once; None without a page. `framed`: in a frame, as of a notebook."""
        if self._job_id is None or not self._server.config.page.enabled:
            return None
        return f"{self._server.url}{self._server.entrance.login_path(self._job_id, Grant(framed=framed))}"

    def close(self) -> None:
        """Remove the address and stop serving the job.

        Blocks up to `LINGER_S_MAX` until clients have fetched answers.
        """
        try:
            if self._job_id is not None:
                self._server.jobs.operations.await_fetched(self._job_id, LINGER_S_MAX)
                self._server.jobs.remove(self._job_id)
            self._withdraw()
        finally:
            release(self._server)

    def _withdraw(self) -> None:
        if self._announcing is not None:
            self._announcing.join()
        if self._announced is not None:
            self._run_directory.remove(self._announced)
        if self._path is not None and self._folder is not None:
            try:
                remove_address(self._folder.store, self._path)
            except HeadgateError as error:
                _log.warning("the address of the job's driver could not be removed from storage: %s", error)

    def _announce(self, folder: JobFolder, address: DriverAddress) -> None:
        try:
            self._run_directory.write(address)
            self._announced = address
        except (OSError, HeadgateError) as error:
            _log.warning("`headgate` on this machine finds job %s only by its storage: %s", address.job_id, error)
        if not isinstance(folder.store, FileSystemStore):
            return
        try:
            folder.store.make_private(paths.MASTERS)
            self._path = write_address(folder.store, address)
        except HeadgateError as error:
            _log.warning("`headgate` on other machines does not find job %s: %s", address.job_id, error)


def endpoint_of(settings: Settings, *, default: bool) -> JobEndpoint | None:
    """Return a new endpoint, None if the settings disable it; `default` applies if they do not say.

    Raises ConfigError for wrong settings, EnvironmentFault if the server cannot listen.
    """
    config = rest_config(settings, default=default)
    return None if config is None else JobEndpoint(config)
