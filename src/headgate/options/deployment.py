"""Options of where and how a job runs: storage, network, slots, logs."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import (
    BOOLEAN,
    DURATION_MS,
    HEX_ID,
    INTEGER,
    LOCATION,
    PORT_RANGE,
    SIZE_BYTES,
    TEXT,
    TEXT_PAIRS,
    one_of,
)

JOB_ID: Final = Option[str | None](
    "headgate.job.id",
    HEX_ID,
    None,
    "Id of the job: a program that is started again with the same id and storage goes on from its last checkpoint; "
    "not set: a new one each time.",
)
DEPLOY_TARGET: Final = Option[str](
    "headgate.deploy.target",
    one_of("auto", "spark", "minicluster"),
    "auto",
    "Where jobs run. auto: the active Spark session if there is one, else that of spark-submit, else an embedded local "
    "one.",
)
STORAGE_DIR: Final = Option[str | None](
    "headgate.storage.dir",
    LOCATION,
    None,
    "Folder or URI for what a job stores, seen by the driver and every slot; not set: a temporary folder, which only "
    "works on one machine.",
)
BIND_HOST: Final = Option[str | None](
    "headgate.network.bind-host",
    TEXT,
    None,
    "Address that slots and the job master listen on; not set: loopback if everything runs here, else all.",
)
ADVERTISED_HOST: Final = Option[str | None](
    "headgate.network.advertised-host",
    TEXT,
    None,
    "Address that slots reach the driver at; not set: spark.driver.host. Slots find out their own.",
)
PORT_RANGE_OPTION: Final = Option[tuple[int, int]](
    "headgate.network.port-range", PORT_RANGE, (0, 0), "Ports to listen on; 0: any free port."
)
TLS_CERT: Final = Option[str | None](
    "headgate.network.tls.cert", TEXT, None, "File of the PEM certificate of this side; with it, connections use TLS."
)
TLS_KEY: Final = Option[str | None]("headgate.network.tls.key", TEXT, None, "File of the certificate's private key.")
TLS_CA: Final = Option[str | None](
    "headgate.network.tls.ca", TEXT, None, "File of the PEM certificates that the other side must be signed by."
)
CREDIT_BATCHES: Final = Option[int](
    "headgate.network.credit.batches", INTEGER, 16, "Batches that a channel may have under way.", (), 1
)
CREDIT_BYTES: Final = Option[int](
    "headgate.network.credit.bytes",
    SIZE_BYTES,
    4 * 2**20,
    "Bytes that a channel between slots may have under way; one larger batch still passes.",
    (),
    1,
)
HEARTBEAT_INTERVAL: Final = Option[int](
    "headgate.slot.heartbeat.interval", DURATION_MS, 1000, "Time between signs of life of a slot.", (), 10
)
HEARTBEAT_TIMEOUT: Final = Option[int](
    "headgate.slot.heartbeat.timeout", DURATION_MS, 10_000, "A slot that is silent for longer is lost.", (), 10
)
TEARDOWN_TIMEOUT: Final = Option[int](
    "headgate.slot.teardown-timeout",
    DURATION_MS,
    10_000,
    "A slot that does not end an attempt within this time is killed.",
    (),
    10,
)
START_TIMEOUT: Final = Option[int](
    "headgate.slot.start-timeout", DURATION_MS, 120_000, "All slots must have registered within this time.", (), 10
)
SUSPEND_GRACE: Final = Option[int](
    "headgate.suspend.grace-period",
    DURATION_MS,
    20_000,
    "Time that a job has for its last checkpoint when the driver gets SIGTERM; Kubernetes and Spark kill after 30 s.",
)
SLOT_REQUEST_TIMEOUT: Final = Option[int](
    "slot.request.timeout",
    DURATION_MS,
    300_000,
    "How long after the start of a Spark session a job waits for the first executor to register.",
    (),
    10,
)
BATCH_RECORDS: Final = Option[int]("headgate.batch.records", INTEGER, 1024, "Records in a full batch.", (), 1)
MOVED_CLASSES: Final = Option[dict[str, str]](
    "headgate.state.moved-classes",
    TEXT_PAIRS,
    {},
    "Old to new names, with module, of classes that stored state holds pickled and that have moved.",
)
SCHEDULER_POOL: Final = Option[str | None](
    "headgate.spark.scheduler-pool", TEXT, None, "Spark scheduler pool that the job's stage runs in."
)
STATUS_LINE: Final = Option[bool](
    "headgate.console.status-line",
    BOOLEAN,
    True,
    "Whether execute() shows in a line what the job does, if standard error is a terminal and the job prints nothing.",
)
LOG_LEVEL: Final = Option[str](
    "headgate.log.level",
    one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    "INFO",
    "Least severity of what headgate logs in the slots; in the driver the program's own logging decides.",
)
