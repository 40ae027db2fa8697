"""The three transports under measurement, each reduced to "send frames" and "deliver frames on the main thread".

A receiver is an object with `port` and `take(timeout_s) -> list[bytes-like]`, called on the thread that also runs the
work units, as a slot's mailbox loop would. A sender is a function `send(frame)` made by `sender(port)`.
"""

from __future__ import annotations

import asyncio
import collections
import selectors
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

LENGTH = struct.Struct("!I")
SCHEMA = pa.schema([("frame", pa.binary())])


class Inbox:
    """Frames handed from a network thread to the main thread."""

    def __init__(self) -> None:
        self.frames: collections.deque[Any] = collections.deque()
        self.arrived = threading.Event()

    def put(self, frame: Any) -> None:
        self.frames.append(frame)
        self.arrived.set()

    def take(self, timeout_s: float) -> list[Any]:
        if not self.frames and timeout_s:
            self.arrived.wait(timeout_s)
        self.arrived.clear()
        taken = []
        while self.frames:
            taken.append(self.frames.popleft())
        return taken


class FlightReceiver(Inbox):
    def __init__(self) -> None:
        super().__init__()
        inbox = self

        class Server(flight.FlightServerBase):  # type: ignore[misc]
            def do_put(self, _context: Any, _descriptor: Any, reader: Any, _writer: Any) -> None:
                for chunk in reader:
                    inbox.put(chunk.data.column(0)[0].as_buffer())

        self.server = Server("grpc://127.0.0.1:0")
        self.port = self.server.port


def flight_sender(port: int) -> Callable[[bytes], None]:
    client = flight.connect(f"grpc://127.0.0.1:{port}")
    writer, _ = client.do_put(flight.FlightDescriptor.for_path("c"), SCHEMA)

    def send(frame: bytes) -> None:
        assert client is not None
        writer.write_batch(pa.record_batch([pa.array([frame], pa.binary())], schema=SCHEMA))

    return send


class AsyncioReceiver(Inbox):
    def __init__(self) -> None:
        super().__init__()
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True).start()
        ready.wait()

    async def _serve(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._read, "127.0.0.1", 0, limit=1 << 20)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await server.serve_forever()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (size,) = LENGTH.unpack(await reader.readexactly(4))
                self.put(await reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionResetError):
            pass


class SelectorsReceiver:
    """Non-blocking socket, polled by the thread that runs the work."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.buffer = bytearray(1 << 20)
        self.filled = 0

    def take(self, timeout_s: float) -> list[Any]:
        taken: list[Any] = []
        for key, _ in self.selector.select(timeout_s):
            if key.fileobj is self.listener:
                self.peer, _ = self.listener.accept()
                self.peer.setblocking(False)
                self.selector.register(self.peer, selectors.EVENT_READ)
            else:
                self._read(taken)
        return taken

    def _read(self, taken: list[Any]) -> None:
        got = self.peer.recv_into(memoryview(self.buffer)[self.filled :])
        if not got:
            self.selector.unregister(self.peer)
            return
        self.filled += got
        at = 0
        view = memoryview(self.buffer)
        while self.filled - at >= 4:
            (size,) = LENGTH.unpack_from(self.buffer, at)
            if self.filled - at < 4 + size:
                break
            taken.append(bytes(view[at + 4 : at + 4 + size]))
            at += 4 + size
        rest = self.filled - at
        view[:rest] = bytes(view[at : self.filled])
        self.filled = rest


def socket_sender(port: int) -> Callable[[bytes], None]:
    peer = socket.create_connection(("127.0.0.1", port))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(frame: bytes) -> None:
        size = LENGTH.pack(len(frame))
        if len(frame) < 65536:
            peer.sendall(size + frame)
        else:
            peer.sendall(size)
            peer.sendall(frame)

    return send


TRANSPORTS: dict[str, tuple[Any, Callable[[int], Callable[[bytes], None]]]] = {
    "flight": (FlightReceiver, flight_sender),
    "asyncio": (AsyncioReceiver, socket_sender),
    "selectors": (SelectorsReceiver, socket_sender),
}
