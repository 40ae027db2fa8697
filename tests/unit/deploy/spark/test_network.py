"""Where processes listen, and under which address they are reached."""

from __future__ import annotations

import pytest

from headgate.deploy.spark.network import LOOPBACK, address_towards, driver_network, slot_network
from headgate.errors import ConfigError
from headgate.options import resolve
from headgate.runtime.wire import Address, TlsConfig


def test_on_one_machine_only_this_machine_can_connect() -> None:
    config = driver_network(resolve(), LOOPBACK)
    assert (config.bind_host, config.advertise(7)) == (LOOPBACK, Address(LOOPBACK, 7))


def test_on_a_cluster_a_process_is_reached_at_its_own_address() -> None:
    config = driver_network(resolve(), "10.0.0.5")
    assert (config.bind_host, config.advertise(7)) == ("0.0.0.0", Address("10.0.0.5", 7))


def test_settings_come_first() -> None:
    settings = resolve(
        {
            "headgate.network.bind-host": "10.0.0.6",
            "headgate.network.advertised-host": "gate.example",
            "headgate.network.port-range": "50000-50010",
            "headgate.network.tls.cert": "c.pem",
            "headgate.network.tls.key": "k.pem",
            "headgate.network.tls.ca": "a.pem",
        }
    )
    config = driver_network(settings, "10.0.0.5")
    assert (config.bind_host, config.advertise(7)) == ("10.0.0.6", Address("gate.example", 7))
    assert slot_network(settings, "10.0.0.5").advertise(7) == Address("10.0.0.6", 7)
    assert config.ports == (50_000, 50_010)
    assert config.tls == TlsConfig(cert="c.pem", key="k.pem", ca="a.pem")


def test_half_of_the_tls_files_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"headgate\.network\.tls\.key, headgate\.network\.tls\.ca"):
        driver_network(resolve({"headgate.network.tls.cert": "c.pem"}), LOOPBACK)


def test_the_address_towards_this_machine_is_loopback() -> None:
    assert address_towards(LOOPBACK, 7) == LOOPBACK
