"""Where the REST interface listens: never beyond this machine by accident, and clear words when it cannot."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.errors import ConfigError, EnvironmentFault
from headgate.options import resolve
from headgate.web.access import RestConfig, check_certificate, is_loopback, listen, rest_config


def config(**settings: str) -> RestConfig | None:
    return rest_config(resolve({key.replace("__", "."): value for key, value in settings.items()}), default=True)


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_without_settings_it_listens_on_loopback_at_any_port() -> None:
    assert config() == RestConfig(bind_address="127.0.0.1", address="127.0.0.1", ports=(0, 0))


def test_it_is_switched_off_and_on_by_its_option() -> None:
    assert config(headgate__rest__enabled="false") is None
    assert rest_config(resolve({}), default=False) is None
    assert rest_config(resolve({"headgate.rest.enabled": "true"}), default=False) is not None


@pytest.mark.parametrize("address", ["0.0.0.0", "10.0.0.1"])
def test_beyond_this_machine_it_wants_tls(address: str) -> None:
    with pytest.raises(ConfigError, match=r"headgate\.rest\.tls\.cert.*rest\.bind-address"):
        config(**{"rest.bind-address": address})


def test_beyond_this_machine_without_tls_is_an_explicit_choice() -> None:
    found = config(**{"rest.bind-address": "0.0.0.0", "headgate.rest.allow-plain": "true", "rest.address": "driver"})
    assert found is not None
    assert (found.bind_address, found.address) == ("0.0.0.0", "driver")


def test_half_a_certificate_names_the_missing_half(tmp_path: Path) -> None:
    cert = tmp_path / "cert.pem"
    cert.write_text("")
    with pytest.raises(ConfigError, match=r"headgate\.rest\.tls\.key is not set"):
        config(headgate__rest__tls__cert=str(cert))


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"headgate\.network\.tls\.cert is /nowhere"):
        config(headgate__network__tls__cert="/nowhere", headgate__network__tls__key="/nowhere")


def test_a_broken_certificate_is_found_before_the_job_starts(tmp_path: Path) -> None:
    for name in ("cert", "key"):
        (tmp_path / name).write_text("no PEM")
    with pytest.raises(ConfigError, match=r"cannot use the certificate .*cert"):
        check_certificate(RestConfig(cert=str(tmp_path / "cert"), key=str(tmp_path / "key")))


def test_a_port_that_is_taken_names_the_option(taken: int) -> None:
    with pytest.raises(EnvironmentFault, match=rf"port {taken} of 127\.0\.0\.1 is in use.*rest\.bind-port"):
        listen(RestConfig(ports=(taken, taken)))


def test_of_a_range_the_first_free_port_is_taken(taken: int) -> None:
    with listen(RestConfig(ports=(taken, min(taken + 20, 65535)))) as found:
        assert taken < found.getsockname()[1] <= taken + 20


def test_an_address_of_another_machine_names_the_option() -> None:
    with pytest.raises(EnvironmentFault, match=r"cannot listen on 192\.0\.2\.1.*rest\.bind-address"):
        listen(RestConfig(bind_address="192.0.2.1"))


def test_loopback_is_told_from_other_addresses() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("localhost")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("192.0.2.1")
    assert not is_loopback("no such host.invalid")
