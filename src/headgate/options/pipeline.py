"""Options of the pipeline, and of where its state lives."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, DURATION_MS, INTEGER, SIZE_BYTES, TEXT, TEXT_PAIRS, one_of

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
UNALIGNED_SPLITS: Final = Option[bool](
    "pipeline.watermark-alignment.allow-unaligned-source-splits",
    BOOLEAN,
    False,
    "Whether a source may take part in watermark alignment whose readers read several splits and cannot pause single "
    "ones: only whole subtasks then wait.",
)
BUFFER_TIMEOUT: Final = Option[int](
    "execution.buffer-timeout.interval",
    DURATION_MS,
    100,
    "Longest time that a record waits for its batch to fill; 0: it is sent at once.",
    ("execution.buffer-timeout",),
)
ASYNC_STATE_LIMIT: Final = Option[int](
    "execution.async-state.in-flight-records-limit",
    INTEGER,
    6000,
    "How many records and timers of a subtask wait or are under way at a time after enable_async_state().",
    (),
    1,
)
RUNTIME_MODE: Final = Option[str](
    "execution.runtime-mode",
    one_of("STREAMING", "BATCH", "AUTOMATIC"),
    "STREAMING",
    "How the program runs: as a stream with checkpoints, or stage after stage over bounded input. AUTOMATIC is BATCH "
    "when every source ends.",
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
    "Folders on local disks of every worker, separated by commas, for the files of RocksDB: each database is in one of "
    "them. Not set: a temporary folder.",
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

USER_METRICS: Final = Option[bool](
    "python.metric.enabled", BOOLEAN, True, "Whether functions may keep metrics of their own."
)
