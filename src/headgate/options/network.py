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
    "Address at which slots reach the driver. Not set: spark.driver.host. Slots find their own addresses.",
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
    "headgate.network.tls.ca",
    TEXT,
    None,
    "PEM file of the certificates that must have signed the other side's certificate.",
)
CREDIT_BATCHES: Final = Option[int](
    "headgate.network.credit.batches", INTEGER, 16, "Batches that a channel may have in transit.", (), 1
)
CREDIT_BYTES: Final = Option[int](
    "headgate.network.credit.bytes",
    SIZE_BYTES,
    4 * 2**20,
    "Bytes that a channel between slots may have in transit. A single larger batch still passes.",
    (),
    1,
)
DEBLOAT: Final = Option[bool](
    f"{_DEBLOAT}enabled",
    BOOLEAN,
    True,
    "Whether the records that wait for a subtask are limited to the number that it processes within the target "
    "time, so that barriers do not wait for long. In Flink the default is false.",
)
DEBLOAT_TARGET: Final = Option[int](
    f"{_DEBLOAT}target",
    DURATION_MS,
    1000,
    "Time in which a subtask should process the records that wait for it.",
    (),
    1,
)
DEBLOAT_PERIOD: Final = Option[int](
    f"{_DEBLOAT}period", DURATION_MS, 200, "Longest time for which a subtask's rate is sampled.", (), 1
)
DEBLOAT_SAMPLES: Final = Option[int](
    f"{_DEBLOAT}samples", INTEGER, 20, "Number of newest samples of the average rate.", (), 1
)
DEBLOAT_THRESHOLD: Final = Option[int](
    f"{_DEBLOAT}threshold-percentages",
    INTEGER,
    25,
    "Percentage below which a change of the limit is ignored.",
    (),
    0,
)
