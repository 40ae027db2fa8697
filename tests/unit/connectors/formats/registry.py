"""A schema registry for tests: an HTTP server that keeps schemas in memory and notes what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Registry:
    """What the server knows. `login`: the Authorization header that it wants, any for None."""

    def __init__(self) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.login: str | None = None
        self.url = ""

    def add(self, schema_id: int, text: str, **more: str) -> None:
        """Keep a schema under an id."""
        self.schemas[schema_id] = {"schema": text, **more}

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body of an answer."""
        self.asked.append(f"{method} {path}")
        if method == "POST":
            found = [each for each, schema in self.schemas.items() if schema["schema"] == body["schema"]]
            schema_id = found[0] if found else len(self.schemas) + 1
            self.add(schema_id, body["schema"])
            return 200, {"id": schema_id}
        schema = self.schemas.get(int(path.rpartition("/")[2]))
        return (404, {"error_code": 40403, "message": "Schema not found"}) if schema is None else (200, schema)


@contextmanager
def running_registry() -> Iterator[Registry]:
    """Yield a registry that answers on a port of this host."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length) or b"{}")
            if registry.login not in (None, self.headers.get("Authorization")):
                status, found = 401, {"message": "Unauthorized"}
            else:
                status, found = registry.answer(self.command, self.path, body)
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
