"""Services that fail as real ones do, each in its own way at every few requests; and who it is that asks them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Final

import psutil

PRICES: Final = {"book": 20, "lamp": 35, "desk": 90}

HTTP_FAULTS: Final = {5: "refuses", 10: "asks for a second", 15: "closes the connection", 20: "is slow", 25: "breaks"}
"""What the HTTP service does instead of answering, by the number of the request within each 25."""

FAULTY_CUSTOMERS: Final = (
    "CREATE TABLE people (id bigint PRIMARY KEY, name text, country text)",
    "INSERT INTO people SELECT id, 'customer ' || id, 'country ' || id % 7 FROM generate_series(0, 99) AS id",
    "CREATE SEQUENCE queries",
    """
    CREATE FUNCTION is_answered() RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
        number bigint := nextval('queries');
    BEGIN
        IF number >= 200 THEN
            PERFORM pg_advisory_xact_lock_shared(1);
        END IF;
        CASE number % 40
            WHEN 10 THEN PERFORM pg_terminate_backend(pg_backend_pid());
            WHEN 20 THEN PERFORM pg_sleep(600);
            WHEN 30 THEN RAISE EXCEPTION 'there is no room' USING ERRCODE = 'too_many_connections';
            ELSE NULL;
        END CASE;
        RETURN true;
    END $$
    """,
    "CREATE VIEW customers AS SELECT id, name, country FROM people WHERE is_answered()",
)
"""Customers: queries for them are ended, too slow or refused now and then. From the 200th on they wait for a lock."""


class PriceRequest(BaseHTTPRequestHandler):
    """Answers `GET /<item>` with the price of the item, unless it is the turn of a fault."""

    protocol_version = "HTTP/1.1"
    server: PriceServer

    def do_GET(self) -> None:
        number = next(self.server.numbers)
        self.server.asked(number, self.client_address[1])
        fault = HTTP_FAULTS.get(number % 25 or 25)
        if fault is None:
            price = PRICES.get(self.path[1:])
            self.answer(404 if price is None else 200, str(price))
            return
        self.server.faults[fault] += 1
        match fault:
            case "refuses":
                self.answer(503)
            case "asks for a second":
                self.answer(429, headers={"Retry-After": "1"})
            case "closes the connection":
                self.close_connection = True
            case "is slow":
                self.server.ended.wait(600)
                self.close_connection = True
            case "breaks":
                self.answer(500)

    def answer(self, status: int, body: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            return  # the client has gone

    def log_message(self, format: str, *args: Any) -> None:
        pass


class PriceServer(ThreadingHTTPServer):
    """The HTTP service. `asked` is told the number of each request, and the port from which it came."""

    request_queue_size = 256
    daemon_threads = True

    def __init__(self, asked: Callable[[int, int], None]) -> None:
        super().__init__(("127.0.0.1", 0), PriceRequest)
        self.asked = asked
        self.numbers = count(1)
        self.faults: Counter[str] = Counter()
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running_price_server(asked: Callable[[int, int], None] = lambda number, port: None) -> Iterator[PriceServer]:
    server = PriceServer(asked)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        serving.join()


def kill_process_at(port: int) -> int:
    """Kill the process on this machine whose connection to a service begins at this port; return its id."""
    process: int = next(each.pid for each in psutil.net_connections("tcp") if each.laddr and each.laddr.port == port)
    psutil.Process(process).kill()
    return process
