"""Where processes listen, and under which address they are reached."""

from __future__ import annotations

import pickle
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.deploy.spark.network import LOOPBACK, address_towards, driver_network, slot_network
from headgate.elements import Batch
from headgate.errors import ConfigError, EnvironmentFault
from headgate.ids import Attempt
from headgate.options import resolve
from headgate.runtime.wire import Address, ThrowAwayCertificate, TlsConfig
from headgate.runtime.wire.frames import LENGTH
from tests.unit.runtime.exchange.test_network import Pair, records
from tests.unit.runtime.wire.between import between

ELSEWHERE = "10.0.0.5"


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
    assert slot_network(settings, "10.0.0.5", None).advertise(7) == Address("10.0.0.6", 7)
    assert config.ports == (50_000, 50_010)
    assert config.tls == TlsConfig(cert="c.pem", key="k.pem", ca="a.pem")


def test_half_of_the_tls_files_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"headgate\.network\.tls\.key, headgate\.network\.tls\.ca"):
        driver_network(resolve({"headgate.network.tls.cert": "c.pem"}), LOOPBACK)


def test_the_address_towards_this_machine_is_loopback() -> None:
    assert address_towards(LOOPBACK, 7) == LOOPBACK


def test_on_one_machine_connections_are_plain() -> None:
    for settings in ({}, {"headgate.network.bind-host": "localhost"}):
        assert driver_network(resolve(settings), LOOPBACK).tls is None
    assert slot_network(resolve(), LOOPBACK, None).tls is None


def test_beyond_one_machine_the_driver_makes_a_certificate_that_slots_share() -> None:
    driver, other = (driver_network(resolve(), ELSEWHERE) for _ in range(2))
    assert isinstance(driver.tls, ThrowAwayCertificate)
    assert driver.tls != other.tls
    assert slot_network(resolve(), ELSEWHERE, driver.tls).tls == driver.tls
    assert "PRIVATE" not in repr(driver)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.6"])
def test_a_job_on_one_machine_that_listens_to_others_uses_tls(host: str) -> None:
    settings = resolve({"headgate.network.bind-host": host, "headgate.network.advertised-host": "10.0.0.6"})
    assert driver_network(settings, LOOPBACK).tls is not None


def test_tls_can_be_forced_and_forbidden() -> None:
    switched = {word: resolve({"headgate.network.tls.enabled": word}) for word in ("true", "false")}
    assert isinstance(driver_network(switched["true"], LOOPBACK).tls, ThrowAwayCertificate)
    assert driver_network(switched["false"], ELSEWHERE).tls is None
    files = {f"headgate.network.tls.{name}": "file.pem" for name in ("cert", "key", "ca")}
    with pytest.raises(ConfigError, match=r"headgate\.network\.tls\.enabled is false"):
        driver_network(resolve(files | {"headgate.network.tls.enabled": "false"}), ELSEWHERE)


def test_a_driver_that_cannot_make_a_certificate_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "headgate.runtime.wire.self_signed", None)
    with pytest.raises(EnvironmentFault, match="the package cryptography"):
        driver_network(resolve(), ELSEWHERE)


class Bomb:
    """Leaves a file behind where it is unpickled."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self._file,)


def test_nothing_that_somebody_injects_between_two_slots_is_unpickled(tmp_path: Path) -> None:
    driver = driver_network(resolve(), ELSEWHERE)
    assert not isinstance(driver.tls, TlsConfig)
    slot = replace(slot_network(resolve(), ELSEWHERE, driver.tls), bind_host=LOOPBACK, advertised_host=None)
    pair = Pair(network=slot)
    with between(pair.receiver.exchange.address) as somebody:
        output = pair.begin()[0]
        pair.sender.exchange.connect(Attempt(1), {pair.receiver.slot: somebody.address})
        output.send(Batch(["good"]))
        pair.drive(lambda: records(pair))
        frame = struct.pack("<IB", 0, 1) + pickle.dumps(Bomb(tmp_path / "exploded"))
        somebody.inject(LENGTH.pack(len(frame)) + frame)
        pair.drive(lambda: pair.receiver.broken or (tmp_path / "exploded").exists())
        assert not (tmp_path / "exploded").exists()
        assert "the connection was lost" in pair.receiver.broken[0]
        assert records(pair) == ["good"]
    pair.close()
