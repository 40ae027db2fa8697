"""Who has no token cannot keep out who has it: half-sent requests, silent connections, pages of other sites."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headgate.web import acceptor, requests
from headgate.web.access import RestConfig
from headgate.web.checks import foreign, own_names
from tests.unit.web.served import Served, served

HALF_SENT = {
    "nothing": b"",
    "half of the headers": b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nX-",
    "half of a body": b"POST /savepoint-disposal HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    "garbage": b"\x16\x03\x01\x02\x00 what is this\r\n\r\n",
}


@pytest.fixture(scope="module")
def job() -> Iterator[Served]:
    with served() as found:
        yield found


@contextlib.contextmanager
def half_sent(job: Served, says: bytes, count: int) -> Iterator[list[socket.socket]]:
    """Connections that have sent that much and stay as they are."""
    url = httpx.URL(job.address.url)
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(socket.create_connection((url.host, url.port), 300)) for _ in range(count)]
        for sock in socks:
            with contextlib.suppress(ConnectionError):
                sock.sendall(says)
        yield socks


def ended(sock: socket.socket) -> bool:
    """Wait until the server has ended a connection."""
    with contextlib.suppress(ConnectionError):
        while sock.recv(65_536):
            pass
    return True


@pytest.mark.parametrize("says", HALF_SENT.values(), ids=HALF_SENT)
@pytest.mark.slow
def test_hundreds_of_half_sent_requests_keep_the_tokens_holder_from_nothing(job: Served, says: bytes) -> None:
    with half_sent(job, says, 200):
        for _ in range(5):
            with httpx.Client(base_url=job.address.url, headers=job.http.headers, verify=False) as client:
                assert client.get("/jobs").status_code == 200


@pytest.mark.slow
def test_a_connection_of_the_tokens_holder_outlives_hundreds_of_others(job: Served) -> None:
    with httpx.Client(base_url=job.address.url, headers=job.http.headers, verify=False) as client:
        before = client.get("/jobs").extensions["network_stream"]
        with half_sent(job, HALF_SENT["nothing"], 200):
            after = client.get("/jobs").extensions["network_stream"]
    assert before is after


@pytest.mark.parametrize("says", HALF_SENT.values(), ids=HALF_SENT)
@pytest.mark.slow
def test_a_request_that_does_not_come_ends_its_connection(
    job: Served, says: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "REQUEST_S_MAX", 0.2)
    with half_sent(job, says, 3) as socks:
        assert all(map(ended, socks))


def test_a_request_of_the_tokens_holder_that_does_not_come_is_answered_408(
    job: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "BODY_S_MAX", 0.2)
    head = f"POST /jobs/{job.job.job_id}/stop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {job.address.token}"
    with half_sent(job, f"{head}\r\nContent-Length: 100\r\n\r\n{{".encode(), 1) as (sock,):
        assert sock.recv(65_536).startswith(b"HTTP/1.1 408 ")


def test_who_leaves_before_the_body_has_come_causes_no_line(job: Served, caplog: pytest.LogCaptureFixture) -> None:
    head = f"POST /jobs/{job.job.job_id}/stop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {job.address.token}"
    with half_sent(job, f"{head}\r\nContent-Length: 100\r\n\r\n{{".encode(), 5) as socks:
        for sock in socks:
            sock.shutdown(socket.SHUT_WR)
        assert all(map(ended, socks))
    assert job.http.get("/jobs").status_code == 200
    assert caplog.messages == []


def test_strangers_cause_no_line_each(job: Served, caplog: pytest.LogCaptureFixture) -> None:
    with half_sent(job, HALF_SENT["garbage"], 50) as socks:
        assert all(map(ended, socks))
    assert caplog.messages == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl command to make a certificate with")
def test_under_tls_who_never_begins_it_keeps_nobody_out(tmp_path: Path) -> None:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=driver"
    files = ["-keyout", tmp_path / "key", "-out", tmp_path / "cert"]
    subprocess.run([*command.split(), *map(str, files)], check=True, capture_output=True)
    settings = {"headgate.rest.tls.cert": str(tmp_path / "cert"), "headgate.rest.tls.key": str(tmp_path / "key")}
    with served(**settings) as job, half_sent(job, b"", 200) as socks:
        context = ssl.create_default_context(cadata=(tmp_path / "cert").read_text())
        context.check_hostname = False
        with httpx.Client(base_url=job.address.url, headers=job.http.headers, verify=context) as client:
            assert client.get("/jobs").status_code == 200
        assert ended(socks[0])


# --- pages of other sites


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8081", "localhost.evil.example", "localhost:80@evil", "", "127.0.0.1.evil"],
)
def test_a_page_that_has_its_own_name_point_here_is_refused(job: Served, host: str) -> None:
    answer = job.http.get("/jobs", headers={"Host": host})
    assert answer.status_code == 421
    assert "rest.address" in answer.json()["errors"][0]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", ""])
def test_a_page_of_another_site_is_refused(job: Served, origin: str) -> None:
    for path in ("/jobs", "/metrics"):
        assert job.http.get(path, headers={"Origin": origin}).status_code == 403


def test_a_page_of_the_server_itself_is_answered(job: Served) -> None:
    assert job.http.get("/jobs", headers={"Origin": job.address.url}).status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost:1", "LOCALHOST", "10.0.0.7:8081", "[::1]:8081", "driver.example", "box", "box."]
)
def test_a_server_goes_by_its_names_and_by_ip_addresses(host: str) -> None:
    names = own_names(RestConfig(address="Driver.Example", bind_address="box"))
    assert foreign({b"host": host.encode()}, names) is None


def test_a_server_goes_by_the_name_of_its_machine_and_never_by_none() -> None:
    names = own_names(RestConfig(bind_address=""))
    assert foreign({b"host": socket.gethostname().encode()}, names) is None
    assert foreign({b"host": b""}, names) is not None


def test_the_body_of_an_answer_does_not_wait_for_the_acknowledgement_of_its_head() -> None:
    async def without_delay() -> int:
        accepted: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()

        class Told(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                accepted.set_result(transport.get_extra_info("socket"))

        with socket.create_server(("127.0.0.1", 0)) as listener:
            acceptor.Acceptor(listener, None, lambda _: Told())
            with socket.create_connection(listener.getsockname()):
                return (await accepted).getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    assert asyncio.run(without_delay())
