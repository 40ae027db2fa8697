"""The server of a process: shared by jobs that want the same, over TLS, gone with the last job, and out of the way."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from headgate.checkpoint.drivers.address import RunDirectory, read_address
from headgate.checkpoint.file_store import FileSystemStore
from headgate.cli.client import DriverClient
from headgate.errors import EnvironmentFault
from headgate.web.access import RestConfig
from headgate.web.server import acquire, release
from tests.unit.datastream.environments import environment, numbers
from tests.unit.web.served import served, until


def can_connect(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def test_jobs_of_one_configuration_share_a_server_and_see_only_their_own_names(tmp_path: Path) -> None:
    with served() as one, served() as other:
        assert one.address.url == other.address.url
        assert {job["id"] for job in one.get("/jobs")["jobs"]} == {one.job.job_id, other.job.job_id}
        one.job.cancel()
        one.job.wait(120)
        assert [job["id"] for job in other.get("/jobs")["jobs"]] == [other.job.job_id]


def test_when_the_last_job_has_ended_port_and_addresses_are_gone(tmp_path: Path) -> None:
    with served(headgate__storage__dir=str(tmp_path)) as job:
        port = port_of(job.address.url)
        store = FileSystemStore.open(str(tmp_path), job.job.job_id)
        until(lambda: read_address(store) == job.address)
        assert job.get("/jobs")
    assert not can_connect(port)
    assert read_address(store) is None
    assert job.job.job_id not in [address.job_id for address in RunDirectory.of_user().read()]


def test_a_server_that_closes_before_it_answers_frees_its_port() -> None:
    server = acquire(RestConfig(ports=(0, 0), open_metrics=True))
    port = port_of(server.url)
    release(server)
    until(lambda: not can_connect(port))


def test_a_taken_port_is_an_error_of_the_program_before_the_job_starts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        env = environment(headgate__rest__enabled="true", **{"rest.port": str(taken.getsockname()[1])})
        numbers(env).print()
        with pytest.raises(EnvironmentFault, match=r"rest\.bind-port"):
            env.execute()


def test_without_the_option_a_job_of_this_process_serves_nothing() -> None:
    before = RunDirectory.of_user().read()
    env = environment()
    numbers(env).print()
    env.execute()
    assert RunDirectory.of_user().read() == before


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl command to make a certificate with")
def test_over_tls_a_client_trusts_the_certificate_from_the_address_and_no_other(tmp_path: Path) -> None:
    for name in ("own", "other"):
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=driver"
        files = ["-keyout", tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.pem"]
        subprocess.run([*command.split(), *map(str, files)], check=True, capture_output=True)
    settings = {"headgate.rest.tls.cert": str(tmp_path / "own.pem"), "headgate.rest.tls.key": str(tmp_path / "own.key")}
    with served(**settings, **{"rest.bind-address": "0.0.0.0", "rest.address": "localhost"}) as job:
        assert job.address.url.startswith("https://localhost:")
        with DriverClient(job.address) as client:
            assert client.get("/jobs")["jobs"][0]["id"] == job.job.job_id
        stranger = ssl.create_default_context(cadata=(tmp_path / "other.pem").read_text())
        stranger.check_hostname = False
        with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
            httpx.get(job.address.url, verify=stranger)
        with pytest.raises(httpx.TransportError):
            httpx.get(job.address.url.replace("https", "http"))
