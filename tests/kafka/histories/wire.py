"""A proxy in front of brokers that understands Kafka's request header, and mistreats EndTxn requests as it is told.

    with Wire(cluster.ports) as wire:
        wire.treat("prefix-of-transactional-ids", lambda request: Delay(0.2))

It stands where brokers advertise their detour, so that clients of `cluster.detour_bootstrap` come to it only.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, final

from headgate.testing.servers.kafka import BrokerPorts

END_TXN: Final = 26
_COMPACT_SINCE: Final = 3
"""The version of EndTxn from which its header has tagged fields, and its strings a varint as their length."""
_HEADER: Final = struct.Struct(">hhi")
_LENGTH: Final = struct.Struct(">i")
_STRING: Final = struct.Struct(">h")


@final
@dataclass(frozen=True, slots=True)
class EndTxn:
    """A request to end a transaction, and the broker (from 0 on) that it is sent to."""

    transactional_id: str
    is_commit: bool
    broker: int


@final
@dataclass(frozen=True, slots=True)
class Delay:
    """Deliver the request after some seconds; what the client sends behind it waits, too."""

    seconds: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Late:
    """End the client's connection now, and deliver the request after some seconds, when it may have been sent again."""

    seconds: float


@final
@dataclass(frozen=True, slots=True)
class LoseRequest:
    """End the client's connection, and do not deliver the request."""


@final
@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """Deliver the request, and end the client's connection when the answer is there."""


Treatment = Delay | Late | LoseRequest | LoseAnswer
Treat = Callable[[EndTxn], Treatment]
"""Called on a thread of its own, so it may block: for instance, it may kill a broker."""


def parse(frame: bytes, broker: int) -> EndTxn | None:
    """Return what a request is, without its length in front; None if it is no EndTxn."""
    api_key, version, _ = _HEADER.unpack_from(frame)
    if api_key != END_TXN:
        return None
    at = _HEADER.size
    (client_id,) = _STRING.unpack_from(frame, at)
    at += _STRING.size + max(client_id, 0)
    if version >= _COMPACT_SINCE:
        length, at = _varint(frame, _skip_tags(frame, at))
        length -= 1
    else:
        (length,) = _STRING.unpack_from(frame, at)
        at += _STRING.size
    end = at + length
    return EndTxn(frame[at:end].decode(), bool(frame[end + 10]), broker)  # a producer's id and epoch are between them


def _skip_tags(frame: bytes, at: int) -> int:
    count, at = _varint(frame, at)
    for _ in range(count):
        _, at = _varint(frame, at)
        size, at = _varint(frame, at)
        at += size
    return at


def _varint(frame: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = frame[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


@final
class Wire:
    """Proxies for the detours of brokers, on one thread."""

    def __init__(self, ports: Iterable[BrokerPorts]) -> None:
        self._ports = list(ports)
        self._treats: dict[str, Treat] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire")
        self._tasks: set[asyncio.Task[None]] = set()

    def treat(self, prefix: str, treat: Treat) -> None:
        """Have `treat` decide on each EndTxn of transactional ids that begin so."""
        self._treats[prefix] = treat

    def leave(self, prefix: str) -> None:
        """Deliver the EndTxn requests of these ids again."""
        self._treats.pop(prefix, None)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        self._servers = [
            await asyncio.start_server(self._served_by(node, ports.detour), "127.0.0.1", ports.detour_entry)
            for node, ports in enumerate(self._ports)
        ]

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _served_by(self, node: int, port: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._serve(node, port, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return serve

    async def _serve(self, node: int, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, upstream = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        back = self._loop.create_task(_pass_on(answers, writer))
        connection = _Connection(reader, writer, answers, upstream, back)
        try:
            while await self._delivers(connection, node):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # one side has gone, as the other will see
        finally:
            back.cancel()
            writer.close()
            upstream.close()

    async def _delivers(self, connection: _Connection, node: int) -> bool:
        """Deliver the next request, as its treatment says. Return whether the connection goes on."""
        length = await connection.reader.readexactly(_LENGTH.size)
        frame = await connection.reader.readexactly(_LENGTH.unpack(length)[0])
        treatment = await self._treatment(frame, node)
        if isinstance(treatment, LoseRequest):
            return False
        if not isinstance(treatment, Delay):
            connection.back.cancel()
            await asyncio.gather(connection.back, return_exceptions=True)
        if isinstance(treatment, Late):
            connection.writer.close()
        if not isinstance(treatment, LoseAnswer):
            await asyncio.sleep(treatment.seconds)
        connection.upstream.write(length + frame)
        await connection.upstream.drain()
        if isinstance(treatment, Delay):
            return True
        await connection.answers.readexactly(_LENGTH.size)  # the broker has done it
        return False

    async def _treatment(self, frame: bytes, node: int) -> Treatment:
        request = parse(frame, node)
        if request is not None:
            for prefix, treat in list(self._treats.items()):
                if request.transactional_id.startswith(prefix):
                    return await asyncio.to_thread(treat, request)
        return Delay()


@final
@dataclass(frozen=True, slots=True)
class _Connection:
    """A client's connection and the one to its broker; `back` passes the answers on."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    answers: asyncio.StreamReader
    upstream: asyncio.StreamWriter
    back: asyncio.Task[None]


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    target.close()
