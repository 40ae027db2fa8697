"""The job master's end of the control connections, and the check for silent slots."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from typing import final

from headgate.clock import Clock
from headgate.ids import Launch, SlotIndex
from headgate.runtime.control.client import Hello
from headgate.runtime.control.messages import FromSlot, RegisterSlot, ToSlot
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.wire import Address, Closed, Connection, Frame, Handlers, Poller, Wire

_log = logging.getLogger(__name__)


@final
class WireLink:
    """The master's control connection to one slot."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, message: ToSlot) -> None:
        self._connection.send(pickle.dumps(message, 5))

    def close(self) -> None:
        self._connection.close()


@final
class ControlServer:
    """The master's end of all control connections. Owned by the thread that polls.

    `check` returns why a slot that registers is not fit to run, None if it is fit.
    """

    def __init__(
        self, wire: Wire, poller: Poller, clock: Clock, master: JobMaster, check: Callable[[RegisterSlot], str | None]
    ) -> None:
        self._clock = clock
        self._master = master
        self._check = check
        self._beats: dict[tuple[Launch, SlotIndex], float] = {}
        self._registered: dict[tuple[Launch, SlotIndex], Connection] = {}
        self._listener = wire.listen(poller, self._accept)

    @property
    def address(self) -> Address:
        """The address at which slots reach the master."""
        return self._listener.address

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def lose_silent(self, timeout_ms: float) -> None:
        """Report each slot as lost that has sent no heartbeat for `timeout_ms`."""
        now_ms = self._clock.monotonic_ms()
        for (launch, slot), beat_ms in list(self._beats.items()):
            if now_ms - beat_ms > timeout_ms:
                del self._beats[launch, slot]
                self._master.slot_lost(launch, slot, f"no sign of life for {timeout_ms:g} ms")

    def _accept(self, connection: Connection, data: bytes) -> Handlers | None:
        hello = Hello.decode(data)
        launch, slot = Launch(hello.launch), SlotIndex(hello.slot)

        def on_closed(connection: Connection, closed: Closed) -> None:
            # A refused connection may have the index of a registered slot, which is not lost.
            if self._registered.get((launch, slot)) is connection:
                del self._registered[launch, slot]
                self._beats.pop((launch, slot), None)
                self._master.slot_lost(launch, slot, str(closed))

        on_frame = self._on_beat(launch, slot) if hello.purpose == "heartbeat" else self._on_message(launch)
        return Handlers(on_frame, on_closed)

    def _on_beat(self, launch: Launch, slot: SlotIndex) -> Callable[[Connection, Frame], None]:
        def on_frame(connection: Connection, frame: Frame) -> None:
            self._beats[launch, slot] = self._clock.monotonic_ms()
            connection.send(bytes(frame))

        return on_frame

    def _on_message(self, launch: Launch) -> Callable[[Connection, Frame], None]:
        def on_frame(connection: Connection, frame: Frame) -> None:
            message: FromSlot = pickle.loads(frame)  # noqa: S301  # from an authenticated slot
            if isinstance(message, RegisterSlot):
                self._register(message, connection)
            else:
                self._master.receive(launch, message)

        return on_frame

    def _register(self, message: RegisterSlot, connection: Connection) -> None:
        unfit = self._check(message)
        if unfit is not None:
            _log.error("slot %d of launch %d was refused: %s", message.slot, message.launch, unfit)
            self._master.slot_unfit(message.launch, unfit)
            connection.close()
            return
        # The timeout runs from now, so a slot that never sends a heartbeat is lost, too.
        self._beats.setdefault((message.launch, message.slot), self._clock.monotonic_ms())
        self._registered.setdefault((message.launch, message.slot), connection)
        self._master.register(message, WireLink(connection))
