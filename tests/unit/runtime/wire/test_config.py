from __future__ import annotations

import socket

import pytest

from headgate.errors import ConfigError, NetworkError
from headgate.runtime.wire import Address, NetworkConfig
from headgate.runtime.wire.config import bind
from tests.unit.runtime.wire.loopback import loopback


def test_a_taken_port_of_the_range_is_passed_over() -> None:
    with bind(NetworkConfig()) as taken:
        port = taken.getsockname()[1]
        last = min(port + 20, 65_535)
        with bind(NetworkConfig(ports=(port, last))) as other:
            assert port < other.getsockname()[1] <= last


@pytest.mark.parametrize(("width", "complaint"), [(1, r"port \d+ is in use"), (2, r"all ports \d+-\d+ are in use")])
def test_an_exhausted_range_is_an_error_that_names_it(width: int, complaint: str) -> None:
    taken = _neighbours()
    try:
        first = taken[0].getsockname()[1]
        with pytest.raises(NetworkError, match=complaint + "; free one or choose another port range"):
            bind(NetworkConfig(ports=(first, first + width - 1)))
    finally:
        for sock in taken:
            sock.close()


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_a_bind_host_that_is_not_this_machine_is_an_error_that_names_it(host: str) -> None:
    with pytest.raises(NetworkError, match=rf"'{host}'.*set the bind host to an address of this machine"):
        bind(NetworkConfig(bind_host=host))


@pytest.mark.parametrize("ports", [(0, 5), (9000, 8000), (1, 70_000), (-1, -1)])
def test_nonsense_is_no_port_range(ports: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match="is not a range of ports"):
        NetworkConfig(ports=ports)


def test_a_wildcard_needs_an_advertised_host() -> None:
    with pytest.raises(ConfigError, match="set the advertised host as well"):
        NetworkConfig(bind_host="0.0.0.0")


def test_peers_are_told_the_advertised_host() -> None:
    with loopback(NetworkConfig(bind_host="0.0.0.0", advertised_host="localhost")) as pair:
        assert pair.listener.address.host == "localhost"
        pair.connected()


def test_an_ipv6_address_is_written_in_brackets() -> None:
    assert str(Address("::1", 80)) == "[::1]:80"
    assert str(Address("host", 80)) == "host:80"


def _neighbours() -> list[socket.socket]:
    """Two listening sockets on adjacent ports."""
    for first in range(20_000, 60_000, 7):
        try:
            one = bind(NetworkConfig(ports=(first, first)))
        except NetworkError:
            continue
        try:
            return [one, bind(NetworkConfig(ports=(first + 1, first + 1)))]
        except NetworkError:
            one.close()
    raise AssertionError("no two adjacent ports are free")
