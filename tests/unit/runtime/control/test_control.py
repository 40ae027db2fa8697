"""The control connection over real sockets: messages both ways, and slots that are lost, silent or unfit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from headgate.checkpoint.store import MemoryStore
from headgate.clock import VirtualClock
from headgate.ids import Launch, SlotIndex
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.runtime.control.client import ControlClient, Hello
from headgate.runtime.control.messages import Deploy, RegisterSlot, ToSlot
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.master.control_server import ControlServer
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.services import MasterServices
from headgate.runtime.wire import Connection, Handlers, NetworkConfig, Poller, Wire
from tests.unit.runtime.plans import HeldIo, line_plan
from tests.unit.runtime.wire.loopback import SECRET, drive


@dataclass
class Launches:
    """A launcher that only notes its orders."""

    launched: list[int] = field(default_factory=list)
    killed: list[int] = field(default_factory=list)

    def count_slots(self, held: int) -> None:
        return None

    def launch(self, launch: Launch, slots: int) -> None:
        self.launched.append(launch)

    def kill(self, launch: Launch) -> None:
        self.killed.append(launch)


class Desk:
    """A master that has launched its one slot, listening; and slots that call it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.io = HeldIo()
        self.launcher = Launches()
        plan = line_plan(
            [1],
            CollectFactory(),
            settings={"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 ms"},
        )
        services = MasterServices(
            clock=self.clock,
            io=self.io,
            storage=JobStorage(MemoryStore(), self.io, self.clock, lambda location: MemoryStore()),
            launcher=self.launcher,
            collected=lambda message: None,
        )
        self.master = JobMaster(plan, services)
        self.poller, self.slots_poller = Poller(), Poller()
        self.wire = Wire(NetworkConfig(), SECRET)
        self.unfit: str | None = None
        self.server = ControlServer(self.wire, self.poller, self.clock, self.master, lambda message: self.unfit)
        self.heard: list[ToSlot] = []
        self.master.submit()
        self.io.run()
        assert self.launcher.launched == [1]

    def call(self, launch: int = 1) -> ControlClient:
        """Connect as slot 0 of a launch and register."""
        hello = Hello("control", launch, 0)
        client = ControlClient(self.wire, self.slots_poller, self.server.address, hello, self.heard.append)
        client.send(RegisterSlot(launch=Launch(launch), slot=SlotIndex(0), host="here", port=7))
        return client

    def beat(self) -> Connection:
        """Connect for heartbeats."""
        handlers = Handlers(lambda connection, frame: None, lambda connection, closed: None)
        hello = Hello("heartbeat", 1, 0).encode()
        return self.wire.connect(self.slots_poller, self.server.address, hello, handlers)

    def drive(self, until: object) -> None:
        def happened() -> bool:
            self.io.run()
            return bool(until())  # type: ignore[operator]

        drive(happened, self.poller, self.slots_poller)

    def close(self) -> None:
        self.server.close()
        for poller in (self.slots_poller, self.poller):
            poller.poll(0.0)
            poller.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.close()


def test_a_slot_that_registers_is_deployed_with_the_address_it_gave(desk: Desk) -> None:
    desk.call()
    desk.drive(lambda: desk.heard)
    (message,) = desk.heard
    assert isinstance(message, Deploy)
    assert message.placement.addresses == {0: ("here", 7)}


def test_a_slot_whose_connection_ends_is_lost_at_once(desk: Desk) -> None:
    client = desk.call()
    desk.drive(lambda: desk.heard)
    client.close()
    desk.drive(lambda: desk.launcher.killed == [1])


def test_a_slot_learns_that_its_master_is_gone(desk: Desk) -> None:
    client = desk.call()
    desk.drive(lambda: desk.heard)
    desk.master.cancel()
    desk.clock.advance(60_000)
    desk.master.step(desk.clock.monotonic_ms())
    desk.drive(lambda: client.lost is not None)


def test_a_slot_of_another_launch_is_sent_away(desk: Desk) -> None:
    client = desk.call(launch=7)
    desk.drive(lambda: client.lost is not None)
    assert desk.heard == []
    assert desk.launcher.killed == []


def test_an_unfit_slot_fails_the_job_with_the_reason(desk: Desk) -> None:
    desk.unfit = "Python 3.9 there, 3.11 here"
    client = desk.call()
    desk.drive(lambda: client.lost is not None and desk.launcher.killed)
    desk.master.launch_ended(Launch(1), None)
    desk.drive(lambda: desk.master.outcome is not None)
    assert desk.master.outcome is not None
    assert desk.master.outcome.status is JobStatus.FAILED
    assert desk.master.outcome.cause == desk.unfit


def test_a_slot_that_beats_no_more_is_lost_after_the_timeout_and_not_before(desk: Desk) -> None:
    desk.call()
    beats = desk.beat()
    beats.send(b"alive")
    desk.drive(lambda: desk.heard and desk.server._beats)
    desk.clock.advance(900)
    desk.server.lose_silent(1000)
    assert desk.launcher.killed == []
    desk.clock.advance(200)
    desk.server.lose_silent(1000)
    assert desk.launcher.killed == [1]


def test_a_second_slot_in_a_place_that_is_taken_is_sent_away_and_the_first_one_stays(desk: Desk) -> None:
    first = desk.call()
    desk.drive(lambda: desk.heard)
    second, beats = desk.call(), desk.beat()
    beats.send(b"alive")
    desk.drive(lambda: second.lost is not None and desk.server._beats)
    beats.close()
    for _ in range(5):
        desk.poller.poll(0.001)
        desk.slots_poller.poll(0.001)
    assert first.lost is None
    assert desk.launcher.killed == []


def test_a_hello_survives_the_wire() -> None:
    hello = Hello("control", 3, 5)
    assert Hello.decode(hello.encode()) == hello
