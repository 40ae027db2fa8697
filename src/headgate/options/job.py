"""Options of a job as a whole."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, DURATION_MS, HEX_ID, INTEGER, LOCATION, TEXT, TEXT_PAIRS, one_of

JOB_NAME: Final = Option[str | None]("pipeline.name", TEXT, None, "Name of the job.")
JOB_ID: Final = Option[str | None](
    "headgate.job.id",
    HEX_ID,
    None,
    "Id of the job. A program that starts again with the same id and storage continues from its last checkpoint. "
    "Not set: a new id at each start.",
)
DEPLOY_TARGET: Final = Option[str](
    "headgate.deploy.target",
    one_of("auto", "spark", "minicluster"),
    "auto",
    "Where the job runs. auto: in the active Spark session, else in the session of spark-submit, else locally.",
)
STORAGE_DIR: Final = Option[str | None](
    "headgate.storage.dir",
    LOCATION,
    None,
    "Where the job stores its checkpoints and its address; the driver and every slot must see it. Not set: a "
    "temporary folder, which serves one machine only.",
)
RUNTIME_MODE: Final = Option[str](
    "execution.runtime-mode",
    one_of("STREAMING", "BATCH", "AUTOMATIC"),
    "STREAMING",
    "STREAMING: a stream with checkpoints. BATCH: stage after stage over bounded input. AUTOMATIC: BATCH if every "
    "source is bounded.",
)
PARALLELISM: Final = Option[int | None](
    "parallelism.default",
    INTEGER,
    None,
    "Number of subtasks of each operator that sets no parallelism. Not set: the deployment decides.",
    (),
    1,
)
MAX_PARALLELISM: Final = Option[int | None](
    "pipeline.max-parallelism",
    INTEGER,
    None,
    "Number of key groups, fixed for the life of the state. Not set: derived from the parallelism.",
    (),
    1,
)
CHAINING: Final = Option[bool](
    "pipeline.operator-chaining.enabled",
    BOOLEAN,
    True,
    "Whether operators without an exchange of records between them run as one chain.",
    ("pipeline.operator-chaining",),
)
JOB_PARAMETERS: Final = Option[dict[str, str]](
    "pipeline.global-job-parameters", TEXT_PAIRS, {}, "Parameters that functions read with get_job_parameter."
)
SCHEDULER_POOL: Final = Option[str | None](
    "headgate.spark.scheduler-pool", TEXT, None, "Scheduler pool of Spark that the job's stage runs in."
)
SUSPEND_GRACE: Final = Option[int](
    "headgate.suspend.grace-period",
    DURATION_MS,
    20_000,
    "Time for the last checkpoint when the driver gets SIGTERM. Kubernetes and Spark kill after 30 s.",
)
SOURCE_IDLE_TIMEOUT: Final = Option[int](
    "table.exec.source.idle-timeout",
    DURATION_MS,
    0,
    "Time without a row after which the watermarks of DataFrames do not wait for a split of a source, or for a subtask "
    "of with_watermark(). 0: they always wait.",
)
LOCAL_TIME_ZONE: Final = Option[str](
    "table.local-time-zone",
    TEXT,
    "default",
    "The time zone of a session, such as Asia/Tokyo: points in time (TIMESTAMP_LTZ) are shown, divided into days and "
    "hours, and converted in it. default: the zone of the machine.",
)
STATE_TTL: Final = Option[int](
    "table.exec.state.ttl",
    DURATION_MS,
    0,
    "How long a join of DataFrames without bounds on event time keeps a row after it has arrived. 0: for ever.",
)
