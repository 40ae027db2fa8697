"""A real PostgreSQL server for tests: in a temporary folder, on a free port, stopped by the test that started it.

Needs the server's programs, `initdb` and `postgres`: on Debian and Ubuntu `apt-get install -y postgresql`.

>>> with PostgresServer() as server:                                        # doctest: +SKIP
...     with server.connect() as connection:
...         connection.execute("CREATE TABLE totals (customer text PRIMARY KEY, amount bigint)")
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, final

import psycopg
from psycopg import sql

from headgate.errors import EnvironmentFault
from headgate.testing.servers.ports import free_ports

USER: Final = "headgate"

_FOLDERS: Final = "/usr/lib/postgresql/*/bin"
_DEADLINE_S: Final = 120.0
_FAST: Final = {"fsync": "off", "full_page_writes": "off"}
"""Written data survives a killed process, but not a host that loses power: tests need no more."""


def find_programs() -> Path:
    """Return the folder with the newest `initdb` and `postgres`. Raises EnvironmentFault when there is none."""
    newest_first = sorted(Path("/").glob(_FOLDERS.removeprefix("/")), key=_version, reverse=True)
    on_path = [Path(found).resolve().parent for found in (shutil.which("postgres"),) if found]
    for folder in [*on_path, *newest_first]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise EnvironmentFault(
        f"there is no PostgreSQL server here: neither the PATH nor {_FOLDERS} has initdb and postgres; "
        "on Debian and Ubuntu install it with: apt-get install -y postgresql"
    )


def _version(programs: Path) -> float:
    try:
        return float(programs.parent.name)
    except ValueError:
        return 0.0


@final
class PostgresServer:
    """A server with one superuser, `headgate`, that listens on 127.0.0.1 and asks for a password.

    `settings` are settings of postgresql.conf, for instance `{"max_prepared_transactions": "20"}`. Entering blocks
    until the server takes connections; leaving stops it and removes its data. Started by root, it runs as another user,
    because PostgreSQL refuses to run as root. Raises EnvironmentFault when it cannot be started; the message ends with
    its log.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._programs = find_programs()
        self._settings = {**_FAST, **(settings or {})}
        self._user = _user_to_run_as()
        self._password = secrets.token_hex(8)
        self._folder = Path(tempfile.mkdtemp(prefix="headgate-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        (self.port,) = free_ports(1)

    def url(self, database: str = "postgres", **changed: str) -> str:
        """Return the URL to connect to; `user`, `password` and `port` may be changed."""
        found = {"user": USER, "password": self._password, "port": str(self.port), **changed}
        return f"postgresql://{found['user']}:{found['password']}@127.0.0.1:{found['port']}/{database}"

    @property
    def password(self) -> str:
        """The password of the user `headgate`."""
        return self._password

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """Return a connection that commits each statement."""
        return psycopg.connect(self.url(database), autocommit=True)

    def create_database(self, name: str) -> str:
        """Create an empty database; return its URL."""
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.stop()
        finally:
            self._remove()

    def start(self) -> None:
        """Start the server on its existing data; block until it takes connections."""
        options = {**self._settings, "port": str(self.port), "unix_socket_directories": str(self._folder)}
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-h", "127.0.0.1"]
        command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = self._run(command, log)
        _wait_until(self._is_ready, lambda: EnvironmentFault(f"PostgreSQL did not start: {self._logged()}"))

    def stop(self) -> None:
        """Shut the server down cleanly; block until it has ended. The data stays until the `with` block ends."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill all processes of the server; block until they are gone. The data stays: `start` continues with it."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGSTOP)  # so that it starts no further processes
        children = _children(self._process.pid)
        for pid in children:
            _kill(pid)
        self._end(signal.SIGKILL)
        _wait_until(
            lambda: not any(map(_is_alive, children)),
            lambda: EnvironmentFault(f"processes {children} of PostgreSQL do not end"),
        )

    def restart(self) -> None:
        """Kill the server, and start it on the same data."""
        self.kill()
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _log(self) -> Path:
        return self._folder / "server.log"

    def _initialise(self) -> None:
        password = self._folder / "password"
        password.write_text(self._password)
        if self._user is not None:
            for path in (self._folder, password):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        command = [str(self._programs / "initdb"), "-D", str(self._data), "-U", USER, f"--pwfile={password}"]
        command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]
        with self._log.open("ab") as log:
            if self._run(command, log).wait() != 0:
                raise EnvironmentFault(f"initdb failed: {self._logged()}")

    def _run(self, command: list[str], log: Any) -> subprocess.Popen[bytes]:
        user = self._user
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self._folder,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
        )

    def _is_ready(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise EnvironmentFault(f"PostgreSQL ended while it was starting: {self._logged()}")
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _logged(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-10:])

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait(_DEADLINE_S)
        self._process = None

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _user_to_run_as() -> pwd.struct_passwd | None:
    """Return the user that runs the server, None for the current user."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return known[name]
    raise EnvironmentFault("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


def _children(parent: int) -> list[int]:
    running = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return [pid for pid in running if _state_and_parent(pid)[1] == parent]


def _is_alive(pid: int) -> bool:
    return _state_and_parent(pid)[0] not in ("", "Z")  # its parent may be gone


def _state_and_parent(pid: int) -> tuple[str, int]:
    try:
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "", 0  # it has ended meanwhile
    return state, int(parent)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _wait_until(holds: Callable[[], bool], otherwise: Callable[[], EnvironmentFault]) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while not holds():
        if time.monotonic() > deadline:
            raise otherwise()
        time.sleep(0.02)
