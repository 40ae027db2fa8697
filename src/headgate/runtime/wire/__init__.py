"""Authenticated frames between the processes of one job, polled by the loop that uses them.

    wire = Wire(NetworkConfig(), JobSecret(key))
    listener = wire.listen(poller, on_connection)
    connection = wire.connect(poller, address, hello, Handlers(on_frame, on_closed))
    connection.send(header, body)
    poller.poll(timeout_s)

Why sockets on the loop's own thread, and not Flight or a network thread:
docs/internals/decisions/0001-network-transport.md.
"""

from headgate.runtime.wire.blocking import BlockingConnection
from headgate.runtime.wire.config import ANY_PORT, Address, NetworkConfig, TlsConfig
from headgate.runtime.wire.connection import CloseCause, Closed, Connection, Handlers
from headgate.runtime.wire.credentials import JobSecret, ThrowAwayCertificate
from headgate.runtime.wire.frames import LARGE_BYTES, Frame, Sendable
from headgate.runtime.wire.listener import Listener, OnConnection
from headgate.runtime.wire.poller import Deadline, Poller
from headgate.runtime.wire.wire import Wire

__all__ = [
    "ANY_PORT",
    "LARGE_BYTES",
    "Address",
    "BlockingConnection",
    "CloseCause",
    "Closed",
    "Connection",
    "Deadline",
    "Frame",
    "Handlers",
    "JobSecret",
    "Listener",
    "NetworkConfig",
    "OnConnection",
    "Poller",
    "Sendable",
    "ThrowAwayCertificate",
    "TlsConfig",
    "Wire",
]
