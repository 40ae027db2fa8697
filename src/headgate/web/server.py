"""The REST server of this process: jobs with the same REST settings share one server.

The server binds its port before the job starts, so that a port in use is an error of the program. It loads the web
application while the job starts, because loading takes a tenth of a second. Connections made meanwhile wait.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from typing import TYPE_CHECKING, Final, final

from headgate.web.acceptor import Acceptor
from headgate.web.access import RestConfig, check_certificate, listen
from headgate.web.logins import Entrance
from headgate.web.requests import ServedJobs

if TYPE_CHECKING:
    import uvicorn

_log = logging.getLogger(__name__)

LINGER_S_MAX: Final = 3.0
"""Seconds for which the end of a job waits for clients to fetch the results of their operations."""
CLOSE_S_MAX: Final = 2.0
_KEEP_ALIVE_S: Final = 5


@final
class RestServer:
    """Serves `jobs`. `acquire` and `release` create and close servers."""

    def __init__(self, config: RestConfig) -> None:
        """Bind the port. Raises EnvironmentFault, and ConfigError for a certificate that cannot be used."""
        check_certificate(config)
        self.config: Final = config
        self.jobs: Final = ServedJobs()
        self._socket = listen(config)
        port = self._socket.getsockname()[1]
        self.entrance: Final = Entrance(token=secrets.token_urlsafe(32), config=config, port=port)
        host = f"[{config.address}]" if ":" in config.address else config.address
        self.url: Final = f"{config.scheme}://{host}:{port}"
        self._lock = threading.Lock()
        self._closing = False
        self._serving: tuple[asyncio.AbstractEventLoop, uvicorn.Server, Acceptor] | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headgate-rest", daemon=True)

    def start(self) -> None:
        """Start serving, on a separate thread. Does not block."""
        self._thread.start()

    def close(self) -> None:
        """Free the port. Blocks for some milliseconds, at most for `CLOSE_S_MAX`."""
        with self._lock:
            self._closing = True
            serving = self._serving
        if serving is None:
            self._socket.close()
            return
        loop, server, acceptor = serving
        loop.call_soon_threadsafe(self._shut, server, acceptor)
        self._closed.wait(CLOSE_S_MAX)

    # --- the serving thread

    def _shut(self, server: uvicorn.Server, acceptor: Acceptor) -> None:
        server.should_exit = True
        acceptor.close()
        self._closed.set()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception:  # noqa: BLE001  # an error of the interface must not fail the job
            _log.exception("the REST interface at %s has ended; the job goes on without it", self.url)
        finally:
            self._closed.set()

    async def _serve(self) -> None:
        import uvicorn  # noqa: PLC0415  # takes long to load, while the job starts

        from headgate.web.app import VisitProtocol, application  # noqa: PLC0415
        from headgate.web.page.history import Histories  # noqa: PLC0415

        histories = Histories(self.jobs)
        config = uvicorn.Config(
            application(self.jobs, self.entrance, histories),
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=1,
            ssl_certfile=self.config.cert,
            ssl_keyfile=self.config.key,
        )
        config.load()
        server = uvicorn.Server(config)
        with self._lock:
            if self._closing:
                return
            acceptor = Acceptor(
                self._socket, config.ssl, lambda visit: VisitProtocol(config, server.server_state, visit)
            )
            self._serving = asyncio.get_running_loop(), server, acceptor
        keeping = asyncio.create_task(histories.keep()) if self.config.page.enabled else None
        await server.serve(sockets=[])
        if keeping is not None:
            keeping.cancel()


_lock: Final = threading.Lock()
_servers: Final[dict[RestConfig, tuple[RestServer, int]]] = {}


def acquire(config: RestConfig) -> RestServer:
    """Return this process' server for a configuration; create it if there is none. Each call needs a `release`.

    Raises EnvironmentFault if the server cannot listen.
    """
    with _lock:
        found = _servers.get(config)
        if found is None:
            server = RestServer(config)
            server.start()
            found = server, 0
        _servers[config] = found[0], found[1] + 1
        return found[0]


def release(server: RestServer) -> None:
    """Release a server; the last release closes it. Blocks for some milliseconds, at most for `CLOSE_S_MAX`."""
    with _lock:
        users = _servers[server.config][1] - 1
        if users:
            _servers[server.config] = server, users
            return
        del _servers[server.config]
    server.close()
