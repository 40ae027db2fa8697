"""Streams of events: how many there are, and that they end with whom they are for."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from headgate.web import acceptor, output_paths
from tests.unit.web.served import Served, served, until
from tests.unit.web.test_output_paths import ON, taps
from tests.unit.web.test_rights import ask, browser

LIVE, OUTPUT = "/jobs/JOB/live", "/jobs/JOB/output/counter"


@pytest.fixture(scope="module")
def job() -> Iterator[Served]:
    with served(**ON) as found:
        yield found


def asks(job: Served, path: str, cookie: dict[str, str], method: str = "GET") -> bytes:
    lines = [
        f"{method} {path.replace('JOB', job.job.job_id)} HTTP/1.1",
        "Host: localhost",
        f"Cookie: {cookie['Cookie']}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def connection(job: Served, stack: ExitStack) -> socket.socket:
    url = httpx.URL(job.address.url)
    return stack.enter_context(socket.create_connection((url.host, url.port), 60))


def status(sock: socket.socket) -> int:
    return int(sock.recv(12)[9:])


def ended(sock: socket.socket) -> bool:
    """Wait until the server has ended what it sends."""
    while sock.recv(65_536):
        pass
    return True


def goes_on(sock: socket.socket) -> None:
    """Read all that has come, and wait for what comes then."""
    sock.setblocking(False)
    with suppress(BlockingIOError):
        assert not ended(sock)
    sock.settimeout(10)
    assert sock.recv(65_536)


def test_of_many_that_look_at_once_only_so_many_see_records(job: Served) -> None:
    owner, _ = browser(job)
    with ExitStack() as stack:
        socks = [connection(job, stack) for _ in range(20)]
        for sock in socks:
            sock.sendall(asks(job, OUTPUT, owner))
        found = [status(sock) for sock in socks]
        assert (found.count(200), found.count(503)) == (output_paths.TAPS_MAX, 20 - output_paths.TAPS_MAX)
    until(lambda: not taps(job))


@pytest.mark.parametrize("path", [LIVE, OUTPUT])
def test_who_asks_whether_there_is_a_stream_begins_none(job: Served, path: str) -> None:
    owner, _ = browser(job)
    with ExitStack() as stack:
        sock = connection(job, stack)
        sock.sendall(asks(job, path, owner, "HEAD"))
        assert b"text/event-stream" in sock.recv(65_536)
        assert taps(job) == {}
        sock.sendall(asks(job, "/session", owner))
        assert status(sock) == 200


@pytest.mark.slow
@pytest.mark.parametrize("path", [LIVE, OUTPUT])
def test_who_leaves_is_told_nothing_more(job: Served, path: str) -> None:
    owner, csrf = browser(job)
    with httpx.stream(
        "GET", job.address.url + path.replace("JOB", job.job.job_id), headers=owner, timeout=60
    ) as answer:
        lines = answer.iter_lines()
        next(lines)
        assert ask(job, "DELETE", "/session", {**owner, "X-CSRF-Token": csrf}).is_success
        due_s = time.monotonic() + 30.0
        for line in lines:
            assert line != "event: ended"
            assert time.monotonic() < due_s, "the stream goes on"
    until(lambda: not taps(job))


@pytest.mark.slow
def test_a_session_with_many_connections_keeps_nobody_out(job: Served) -> None:
    (owner, _), (guest, _) = browser(job), browser(job, readOnly=True)
    with ExitStack() as stack:
        own = connection(job, stack)
        own.sendall(asks(job, LIVE, owner))
        assert status(own) == 200
        socks = []
        for _ in range(acceptor.SESSIONS_MAX + 10):
            socks.append(sock := connection(job, stack))
            sock.sendall(asks(job, LIVE, guest))
            assert status(sock) == 200
        assert all(map(ended, socks[:11]))
        with httpx.Client(base_url=job.address.url, verify=False) as http:
            assert {http.get("/session", headers=owner).status_code for _ in range(20)} == {200}
        assert ended(socks[11])
        goes_on(own)
        goes_on(socks[12])


@pytest.mark.slow
def test_only_connections_that_are_open_have_places(job: Served) -> None:
    guest, _ = browser(job, readOnly=True)
    with ExitStack() as stack:
        first = connection(job, stack)
        first.sendall(asks(job, LIVE, guest))
        for _ in range(acceptor.SESSIONS_MAX):
            with ExitStack() as short:
                sock = connection(job, short)
                sock.sendall(asks(job, "/session", guest) * 2)
                assert status(sock) == 200
        goes_on(first)
