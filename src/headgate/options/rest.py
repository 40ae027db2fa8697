"""Options of the REST interface and the command line: Flink's keys where it has them."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, PORT_RANGE, TEXT

REST_ENABLED: Final = Option[bool | None](
    "headgate.rest.enabled",
    BOOLEAN,
    None,
    "Whether the driver serves the command line and the REST interface; not set: on Spark, and under `headgate run`.",
)
REST_ADDRESS: Final = Option[str | None](
    "rest.address",
    TEXT,
    None,
    "Host name or address under which clients reach the REST interface; not set: the one that it listens on.",
)
REST_BIND_ADDRESS: Final = Option[str | None](
    "rest.bind-address",
    TEXT,
    None,
    "Address that the REST interface listens on; not set: rest.address, else loopback.",
)
REST_PORT: Final = Option[tuple[int, int]](
    "rest.port", PORT_RANGE, (0, 0), "Ports for the REST interface, the first free one is taken; 0: any free port."
)
REST_BIND_PORT: Final = Option[tuple[int, int] | None](
    "rest.bind-port", PORT_RANGE, None, "The same, under Flink's name for a range; not set: rest.port."
)
REST_TLS_CERT: Final = Option[str | None](
    "headgate.rest.tls.cert",
    TEXT,
    None,
    "File of the PEM certificate of the REST interface; with it, HTTPS only. Not set: headgate.network.tls.cert.",
)
REST_TLS_KEY: Final = Option[str | None](
    "headgate.rest.tls.key", TEXT, None, "File of its private key; not set: headgate.network.tls.key."
)
REST_PLAIN: Final = Option[bool](
    "headgate.rest.allow-plain",
    BOOLEAN,
    False,
    "Allow the REST interface beyond this machine without TLS, though the network then sees token and answers.",
)
REST_OPEN_METRICS: Final = Option[bool](
    "headgate.rest.open-metrics", BOOLEAN, False, "Whether /metrics is answered without the token, for Prometheus."
)
