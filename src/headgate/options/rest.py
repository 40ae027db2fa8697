"""Options of the REST interface and the command line: Flink's keys where it has them."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, PORT_RANGE, TEXT

REST_ENABLED: Final = Option[bool | None](
    "headgate.rest.enabled",
    BOOLEAN,
    None,
    "Whether the driver serves the REST interface and the command line. Not set: yes on Spark and under `headgate "
    "run`, else no.",
)
REST_ADDRESS: Final = Option[str | None](
    "rest.address",
    TEXT,
    None,
    "Host name or address at which clients reach the interface. Not set: the address that it listens on.",
)
REST_BIND_ADDRESS: Final = Option[str | None](
    "rest.bind-address",
    TEXT,
    None,
    "Address that the interface listens on. Not set: rest.address, else loopback.",
)
REST_PORT: Final = Option[tuple[int, int]](
    "rest.port", PORT_RANGE, (0, 0), "Ports for the interface; it takes the first free one. 0: any free port."
)
REST_BIND_PORT: Final = Option[tuple[int, int] | None](
    "rest.bind-port",
    PORT_RANGE,
    None,
    "Ports that the interface listens on, under Flink's name for a range. Not set: rest.port.",
)
REST_TLS_CERT: Final = Option[str | None](
    "headgate.rest.tls.cert",
    TEXT,
    None,
    "PEM file of the certificate of the interface. With it, the interface answers HTTPS only. Not set: "
    "headgate.network.tls.cert.",
)
REST_TLS_KEY: Final = Option[str | None](
    "headgate.rest.tls.key",
    TEXT,
    None,
    "PEM file of the private key of the interface's certificate. Not set: headgate.network.tls.key.",
)
REST_PLAIN: Final = Option[bool](
    "headgate.rest.allow-plain",
    BOOLEAN,
    False,
    "Whether the interface may listen beyond this machine without TLS. The network then sees token and answers.",
)
REST_OPEN_METRICS: Final = Option[bool](
    "headgate.rest.open-metrics", BOOLEAN, False, "Whether `/metrics` is answered without the token, for Prometheus."
)
