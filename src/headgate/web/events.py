"""Server-sent events: a client receives them while its request stays open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from headgate.web.checks import IDENTITY, Identity
from headgate.web.json_answer import PRIVATE, written

_TYPE = "text/event-stream"


@final
class EventStream(StreamingResponse):
    """An answer of events. It ends with the client's session; a HEAD request gets no events.

    The context manager `during` is open while events are sent.
    """

    def __init__(
        self, request: Request, events: AsyncIterator[bytes], during: AbstractContextManager[None] | None = None
    ) -> None:
        super().__init__(_told(getattr(request.state, IDENTITY), events), media_type=_TYPE, headers=PRIVATE)
        self._during = during or nullcontext()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. Enters `during` before the loop runs anything else."""
        if scope["method"] == "HEAD":
            await Response(media_type=_TYPE, headers=PRIVATE)(scope, receive, send)
            return
        with self._during:
            await super().__call__(scope, receive, send)


async def _told(who: Identity, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for each in events:
        if not who.stays():
            return
        yield each


def event(name: str, data: Any) -> bytes:
    """Return an event with JSON as its data."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), written(data))
