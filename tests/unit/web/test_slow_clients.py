"""Clients that take an answer slowly, or not at all, and those that send on when they have one."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from uvicorn.server import ServerState

from headgate.web import acceptor
from headgate.web.app import VisitProtocol
from headgate.web.checks import PROVEN

LARGE = "x" * 2_000_000 + "the end"
END = b"the end"
REQUEST = b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def large(request: Request) -> PlainTextResponse:
    """An answer that fits no buffer, to who is known."""
    getattr(request.state, PROVEN)(None)
    return PlainTextResponse(LARGE)


async def endless(request: Request) -> StreamingResponse:
    """A stream, to who is known."""
    getattr(request.state, PROVEN)(None)

    async def parts() -> AsyncIterator[str]:
        while True:
            yield LARGE

    return StreamingResponse(parts())


async def refused(request: Request) -> PlainTextResponse:
    """An answer that does not wait for the body of its request."""
    return PlainTextResponse("no", 401)


APP = Starlette(routes=[Route("/", large), Route("/", refused, methods=["POST"]), Route("/endless", endless)])


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        yield found


def visiting(listener: socket.socket, sends: bytes, client: Callable[[socket.socket], Awaitable[None]]) -> None:
    """Have a client with small buffers come to the server, send that, and go on."""

    async def visit() -> None:
        config = uvicorn.Config(APP, loop="asyncio", http="h11", lifespan="off", log_config=None)
        config.load()
        state = ServerState()
        own = acceptor.Acceptor(listener, None, lambda visit: VisitProtocol(config, state, visit))
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(sock, listener.getsockname())
            await loop.sock_sendall(sock, sends)
            async with asyncio.timeout(60):
                await client(sock)
                while state.connections:
                    await asyncio.sleep(0.01)
        own.close()

    asyncio.run(visit())


async def read_all(sock: socket.socket, pause_s: float = 0.0) -> int:
    """Read to the end; return how many bytes there were."""
    size = 0
    while found := await asyncio.get_running_loop().sock_recv(sock, 65_536):
        size += len(found)
        await asyncio.sleep(pause_s)
    return size


def test_who_takes_nothing_of_a_stream_is_hung_up_on(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor, "TAKING_S_MAX", 0.2)

    async def takes_nothing(sock: socket.socket) -> None:
        pass

    visiting(listener, REQUEST % b"/endless", takes_nothing)


def test_who_takes_an_answer_slowly_gets_all_of_it(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor, "REQUEST_S_MAX", 0.2)

    async def takes_slowly(sock: socket.socket) -> None:
        assert await read_all(sock, pause_s=0.001) > len(LARGE)

    visiting(listener, REQUEST % b"/", takes_slowly)


def test_who_has_taken_an_answer_slowly_has_so_long_for_the_next_request(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "REQUEST_S_MAX", 0.5)

    async def sends_half(sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while not (await loop.sock_recv(sock, 65_536)).endswith(END):
            pass
        await loop.sock_sendall(sock, (REQUEST % b"/")[:-2])
        await read_all(sock)

    visiting(listener, REQUEST % b"/", sends_half)


@pytest.mark.parametrize("apart", [True, False])
def test_who_sends_no_http_behind_a_request_is_hung_up_on_without_a_word(
    listener: socket.socket, apart: bool, caplog: pytest.LogCaptureFixture
) -> None:
    head, rest = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", b"zz\r\nno chunk\r\n"

    async def sends_on(sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        if apart:
            assert (await loop.sock_recv(sock, 65_536)).startswith(b"HTTP/1.1 401 ")
            await loop.sock_sendall(sock, rest)
        await read_all(sock)

    visiting(listener, head if apart else head + rest, sends_on)
    assert caplog.messages == []
