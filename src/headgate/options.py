"""Every option of headgate. Flink's own keys keep Flink's names, defaults and meaning; ours begin with `headgate.`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headgate.config import Option, Registry, Settings, Source, from_command_line
from headgate.config_kinds import BOOLEAN, DURATION_MS, INTEGER, PORT_RANGE, SIZE_BYTES, TEXT, TEXT_PAIRS, one_of
from headgate.errors import ConfigError

# Flink's: checkpoints

CHECKPOINT_INTERVAL: Final = Option[int | None](
    "execution.checkpointing.interval", DURATION_MS, None, "Time between checkpoints; not set: none are made.", (), 10
)
CHECKPOINT_MODE: Final = Option[str](
    "execution.checkpointing.mode",
    one_of("EXACTLY_ONCE", refused=("execution.checkpointing.mode=AT_LEAST_ONCE",)),
    "EXACTLY_ONCE",
    "How often each record changes state.",
)
CHECKPOINT_TIMEOUT: Final = Option[int](
    "execution.checkpointing.timeout", DURATION_MS, 600_000, "A checkpoint that takes longer is given up.", (), 10
)
CHECKPOINT_MIN_PAUSE: Final = Option[int](
    "execution.checkpointing.min-pause", DURATION_MS, 0, "Least time from the end of a checkpoint to the next."
)
CHECKPOINT_MAX_CONCURRENT: Final = Option[int](
    "execution.checkpointing.max-concurrent-checkpoints", INTEGER, 1, "Checkpoints under way at one time.", (), 1
)
CHECKPOINT_TOLERABLE_FAILURES: Final = Option[int](
    "execution.checkpointing.tolerable-failed-checkpoints",
    INTEGER,
    0,
    "Failed checkpoints in a row that the job survives.",
    (),
    0,
)
CHECKPOINTS_RETAINED: Final = Option[int](
    "execution.checkpointing.num-retained",
    INTEGER,
    1,
    "Completed checkpoints kept.",
    ("state.checkpoints.num-retained",),
    1,
)
CHECKPOINT_RETENTION: Final = Option[str](
    "execution.checkpointing.externalized-checkpoint-retention",
    one_of("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"),
    "NO_EXTERNALIZED_CHECKPOINTS",
    "What becomes of the last checkpoint when the job is cancelled or fails for good.",
)
CHECKPOINT_INCREMENTAL: Final = Option[bool](
    "execution.checkpointing.incremental",
    BOOLEAN,
    False,
    "Write only what has changed since the last completed checkpoint, on either backend.",
    ("state.backend.incremental",),
)
CHANGELOG: Final = Option[bool](
    "state.changelog.enabled",
    BOOLEAN,
    False,
    "Write changes of keyed state ahead of the barriers, so that checkpoints are short.",
    ("state.backend.changelog.enabled",),
)
CHANGELOG_MATERIALIZATION_INTERVAL: Final = Option[int](
    "state.changelog.periodic-materialize.interval",
    DURATION_MS,
    600_000,
    "Time between whole snapshots of the state under a changelog; 0: none but those that a long log asks for.",
    ("state.backend.changelog.periodic-materialize.interval",),
)
CHANGELOG_CUT_INTERVAL: Final = Option[int](
    "headgate.changelog.cut-interval",
    DURATION_MS,
    1000,
    "Time between two parts of the changelog that are written ahead of a barrier.",
    (),
    1,
)
CHECKPOINT_DIR: Final = Option[str | None](
    "execution.checkpointing.dir",
    TEXT,
    None,
    "Folder or URI for checkpoints, seen by the driver and every slot; not set: the job's storage.",
    ("state.checkpoints.dir",),
)
CHECKPOINT_STORAGE: Final = Option[str | None](
    "execution.checkpointing.storage",
    one_of("jobmanager", "filesystem", refused=("execution.checkpointing.storage=custom",)),
    None,
    "jobmanager: in the driver's memory, for small state; filesystem: in files; not set: in files.",
    ("state.checkpoint-storage",),
)
MAX_STATE_SIZE: Final = Option[int](
    "headgate.checkpoint.max-state-size",
    SIZE_BYTES,
    5 * 2**20,
    "With execution.checkpointing.storage: jobmanager, the most that one state of a subtask may take.",
    (),
    1,
)
LOCAL_BACKUP: Final = Option[bool](
    "execution.checkpointing.local-backup.enabled",
    BOOLEAN,
    False,
    "Whether slots keep a copy of their state on their own disk, to start from after a failure that they survive.",
    ("state.backend.local-recovery",),
)
RECOVER_FROM_LOCAL: Final = Option[bool | None](
    "execution.state-recovery.from-local",
    BOOLEAN,
    None,
    "Whether subtasks start from such copies; not set: where there are some.",
)
LOCAL_DIRS: Final = Option[str | None](
    "io.tmp.dirs",
    TEXT,
    None,
    "Folders for the local files of slots, separated by commas; not set: those of Spark (spark.local.dir), else where "
    "the system keeps temporary files.",
)
CHECKPOINT_INLINE_THRESHOLD: Final = Option[int](
    "execution.checkpointing.data-inline-threshold",
    SIZE_BYTES,
    20 * 2**10,
    "State smaller than this is kept inside the checkpoint's metadata file.",
    ("state.storage.fs.memory-threshold",),
)

# Flink's: the pipeline

PARALLELISM: Final = Option[int | None](
    "parallelism.default", INTEGER, None, "Subtasks of each operator; not set: the deployment decides.", (), 1
)
MAX_PARALLELISM: Final = Option[int | None](
    "pipeline.max-parallelism", INTEGER, None, "Number of key groups; not set: from the parallelism.", (), 1
)
JOB_NAME: Final = Option[str | None]("pipeline.name", TEXT, None, "Name of the job.")
JOB_PARAMETERS: Final = Option[dict[str, str]](
    "pipeline.global-job-parameters", TEXT_PAIRS, {}, "Parameters that functions read with get_job_parameter."
)
CHAINING: Final = Option[bool](
    "pipeline.operator-chaining.enabled",
    BOOLEAN,
    True,
    "Whether operators that need no exchange run as one.",
    ("pipeline.operator-chaining",),
)
WATERMARK_INTERVAL: Final = Option[int](
    "pipeline.auto-watermark-interval",
    DURATION_MS,
    200,
    "Time between periodic watermarks; 0: none are made.",
)
BUFFER_TIMEOUT: Final = Option[int](
    "execution.buffer-timeout.interval",
    DURATION_MS,
    100,
    "Longest time that a record waits for its batch to fill; 0: it is sent at once.",
    ("execution.buffer-timeout",),
)
RUNTIME_MODE: Final = Option[str](
    "execution.runtime-mode",
    one_of("STREAMING", refused=("execution.runtime-mode=BATCH", "execution.runtime-mode=AUTOMATIC")),
    "STREAMING",
    "How the program runs.",
)
STATE_BACKEND: Final = Option[str](
    "state.backend.type",
    one_of(
        "hashmap",
        "rocksdb",
        synonyms={"jobmanager": "hashmap", "filesystem": "hashmap"},
        refused=("state.backend.type=forst",),
    ),
    "hashmap",
    "Where keyed state lives while the job runs.",
    ("state.backend",),
)

ROCKSDB_LOCAL_DIR: Final = Option[str | None](
    "state.backend.rocksdb.localdir",
    TEXT,
    None,
    "Folder on a local disk of every worker for the files of RocksDB; not set: a temporary folder.",
)
ROCKSDB_WRITE_BUFFER_SIZE: Final = Option[int](
    "state.backend.rocksdb.writebuffer.size",
    SIZE_BYTES,
    64 * 2**20,
    "Memory of each keyed operator in a slot for rows on their way to disk.",
    (),
    2**16,
)
ROCKSDB_BLOCK_CACHE_SIZE: Final = Option[int](
    "headgate.rocksdb.block-cache-size",
    SIZE_BYTES,
    64 * 2**20,
    "Memory of each keyed operator in a slot for what RocksDB has read from disk: data, indices and filters.",
    (),
    2**16,
)
ROCKSDB_CACHE_SIZE: Final = Option[int](
    "headgate.rocksdb.cache-size",
    SIZE_BYTES,
    256 * 2**20,
    "Memory of each keyed operator in a slot for state as Python objects in front of RocksDB, estimated.",
    (),
    1,
)

# Flink's: restarts

RESTART_STRATEGY: Final = Option[str | None](
    "restart-strategy.type",
    one_of(
        "none",
        "fixed-delay",
        synonyms={"off": "none", "disable": "none", "fixeddelay": "fixed-delay"},
        refused=("restart-strategy.type=failure-rate", "restart-strategy.type=exponential-delay"),
    ),
    None,
    "What happens after a failure; not set: restarts when checkpoints are made, else none.",
    ("restart-strategy",),
)
RESTART_ATTEMPTS: Final = Option[int](
    "restart-strategy.fixed-delay.attempts", INTEGER, 1, "Restarts before the job fails for good.", (), 0
)
RESTART_DELAY: Final = Option[int](
    "restart-strategy.fixed-delay.delay", DURATION_MS, 1000, "Time between a failure and the restart."
)

# Ours

DEPLOY_TARGET: Final = Option[str](
    "headgate.deploy.target",
    one_of("auto", "spark", "minicluster"),
    "auto",
    "Where jobs run. auto: the active Spark session if there is one, else an embedded local one.",
)
STORAGE_DIR: Final = Option[str | None](
    "headgate.storage.dir",
    TEXT,
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
LOG_LEVEL: Final = Option[str](
    "headgate.log.level",
    one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    "INFO",
    "Least severity of what headgate logs in the slots; in the driver the program's own logging decides.",
)

REGISTRY: Final = Registry(option for option in tuple(globals().values()) if isinstance(option, Option))


def resolve(
    code: Mapping[str, Any] | None = None,
    arguments: Sequence[str] = (),
    spark_conf: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings of a job from the program's configuration, its command line and the Spark conf.

    Raises ConfigError naming key, value and source, or two keys that contradict each other; UnsupportedError for what
    headgate does not have.

    >>> settings = resolve({"headgate.batch.records": 100}, ["-Dheadgate.batch.records=50", "-Dparallelism.default=2"])
    >>> settings.get(BATCH_RECORDS), settings.get(PARALLELISM)
    (100, 2)
    """
    settings = REGISTRY.resolve(
        [
            (Source.CODE, code or {}),
            (Source.COMMAND_LINE, from_command_line(arguments)),
            (Source.SPARK_CONF, REGISTRY.from_spark_conf(spark_conf or {})),
        ]
    )
    _check_heartbeat(settings.get(HEARTBEAT_INTERVAL), settings.get(HEARTBEAT_TIMEOUT))
    return settings


def _check_heartbeat(interval_ms: int, timeout_ms: int) -> None:
    if interval_ms >= timeout_ms:
        raise ConfigError(
            f"{HEARTBEAT_TIMEOUT.key} is {timeout_ms} ms, but must be above {HEARTBEAT_INTERVAL.key}, which is "
            f"{interval_ms} ms: every slot would be taken for lost"
        )
