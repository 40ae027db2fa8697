"""Options of the connections between slots, and to the driver."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, DURATION_MS, INTEGER, PORT_RANGE, SIZE_BYTES, TEXT

_DEBLOAT: Final = "taskmanager.network.memory.buffer-debloat."

BIND_HOST: Final = Option[str | None](
    "headgate.network.bind-host",
    TEXT,
    None,
    "Address that slots and the job master listen on. Not set: loopback if the job runs on one machine, else "
    "every address.",
)
ADVERTISED_HOST: Final = Option[str | None](
    "headgate.network.advertised-host",
    TEXT,
    None,
    "Address at which slots reach the driver. Not set: spark.driver.host. Slots find out their own.",
)
PORT_RANGE_OPTION: Final = Option[tuple[int, int]](
    "headgate.network.port-range", PORT_RANGE, (0, 0), "Ports to listen on. 0: any free port."
)
TLS_ENABLED: Final = Option[bool | None](
    "headgate.network.tls.enabled",
    BOOLEAN,
    None,
    "Whether connections use TLS. Not set: if the driver listens beyond loopback, or a certificate is given.",
)
TLS_CERT: Final = Option[str | None](
    "headgate.network.tls.cert",
    TEXT,
    None,
    "PEM file of the certificate of this side. Not set: the driver makes one that all processes of the job share.",
)
TLS_KEY: Final = Option[str | None](
    "headgate.network.tls.key", TEXT, None, "PEM file of the private key of the certificate."
)
TLS_CA: Final = Option[str | None](
    "headgate.network.tls.ca", TEXT, None, "PEM file of the certificates that must have signed that of the other side."
)
CREDIT_BATCHES: Final = Option[int](
    "headgate.network.credit.batches", INTEGER, 16, "Batches that a channel may have under way.", (), 1
)
CREDIT_BYTES: Final = Option[int](
    "headgate.network.credit.bytes",
    SIZE_BYTES,
    4 * 2**20,
    "Bytes that a channel between slots may have under way. One larger batch still passes.",
    (),
    1,
)
DEBLOAT: Final = Option[bool](
    f"{_DEBLOAT}enabled",
    BOOLEAN,
    True,
    "Whether the records that wait before a subtask are limited to what it takes within the target time, so that "
    "barriers do not wait for long. In Flink the default is false.",
)
DEBLOAT_TARGET: Final = Option[int](
    f"{_DEBLOAT}target", DURATION_MS, 1000, "How long the records that wait before a subtask may take it.", (), 1
)
DEBLOAT_PERIOD: Final = Option[int](
    f"{_DEBLOAT}period", DURATION_MS, 200, "Longest time for which a subtask's rate is sampled.", (), 1
)
DEBLOAT_SAMPLES: Final = Option[int](
    f"{_DEBLOAT}samples", INTEGER, 20, "Newest samples of which the rate is the average.", (), 1
)
DEBLOAT_THRESHOLD: Final = Option[int](
    f"{_DEBLOAT}threshold-percentages",
    INTEGER,
    25,
    "A limit that would change by less, in percent, stays as it is.",
    (),
    0,
)
