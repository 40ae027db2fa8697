"""Options for watching and controlling a job: the REST interface, the page, logs, metrics and the status line.

Keys of the REST interface are Flink's keys where Flink has them.
"""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, PORT_RANGE, TEXT, one_of

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


WEB_ENABLED: Final = Option[bool](
    "headgate.web.enabled",
    BOOLEAN,
    True,
    "Whether the REST interface also serves the page. The job then prints a link to the page on a terminal, and "
    "elsewhere the command that makes a link.",
)
WEB_READ_ONLY: Final = Option[bool](
    "headgate.web.read-only",
    BOOLEAN,
    False,
    "Whether sessions of the page are read-only: they give no orders and see no records. The command line is not "
    "restricted.",
)
WEB_LOGS: Final = Option[bool](
    "headgate.web.logs",
    BOOLEAN,
    True,
    "Whether slots send what they log and print to the driver, for the page.",
)
WEB_LIVE_OUTPUT: Final = Option[bool](
    "headgate.web.live-output",
    BOOLEAN,
    False,
    "Whether a user who may give orders may also see some of the records that leave an operator of a running job.",
)
WEB_FRAME_ANCESTORS: Final = Option[str | None](
    "headgate.web.frame-ancestors",
    TEXT,
    None,
    "Sites that may show the page in a frame, such as https://notebooks.example.org. Not set: this machine only.",
)


LOG_LEVEL: Final = Option[str](
    "headgate.log.level",
    one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    "INFO",
    "Lowest severity that headgate logs in the slots. In the driver, the program's own logging decides.",
)
STATUS_LINE: Final = Option[bool](
    "headgate.console.status-line",
    BOOLEAN,
    True,
    "Whether execute() shows a line with the status of the job, if standard error is a terminal and the job prints "
    "nothing.",
)
USER_METRICS: Final = Option[bool](
    "python.metric.enabled", BOOLEAN, True, "Whether functions may keep metrics of their own."
)
