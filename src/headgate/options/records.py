"""Options of how records and watermarks travel through a job."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, DURATION_MS, INTEGER, one_of

WATERMARK_INTERVAL: Final = Option[int](
    "pipeline.auto-watermark-interval",
    DURATION_MS,
    200,
    "Time between periodic watermarks. 0: none are made.",
)
OBJECT_REUSE: Final = Option[bool](
    "pipeline.object-reuse",
    BOOLEAN,
    False,
    "false: each receiver of a record gets a separate value. true: all receivers share one object, so functions must "
    "not change a record that they have emitted or received.",
)
NATIVE: Final = Option[str](
    "headgate.native",
    one_of("auto", "on", "off"),
    "auto",
    "Whether the job runs in the compiled module headgate._native. auto: where a process has it. on: everywhere, else "
    "the job fails. off: nowhere. Results are the same.",
)
UNALIGNED_SPLITS: Final = Option[bool](
    "pipeline.watermark-alignment.allow-unaligned-source-splits",
    BOOLEAN,
    False,
    "Whether watermark alignment accepts a source whose readers read several splits and cannot pause one split: "
    "whole subtasks wait then.",
)
BUFFER_TIMEOUT: Final = Option[int](
    "execution.buffer-timeout.interval",
    DURATION_MS,
    100,
    "Longest time that a record waits for its batch to fill. 0: a record is sent at once.",
    ("execution.buffer-timeout",),
)
BATCH_RECORDS: Final = Option[int]("headgate.batch.records", INTEGER, 1024, "Records in a full batch.", (), 1)
ASYNC_STATE_LIMIT: Final = Option[int](
    "execution.async-state.in-flight-records-limit",
    INTEGER,
    6000,
    "Records and timers of a subtask that may wait or run at a time after enable_async_state().",
    (),
    1,
)
ASYNC_SCALAR_CAPACITY: Final = Option[int](
    "table.exec.async-scalar.max-concurrent-operations",
    INTEGER,
    10,
    "Calls of an async function in expressions that a subtask may have in progress.",
    ("table.exec.async-scalar.buffer-capacity",),
    1,
)
ASYNC_SCALAR_TIMEOUT: Final = Option[int](
    "table.exec.async-scalar.timeout",
    DURATION_MS,
    180_000,
    "Time for the call of an async function for a row, repeated calls included. Then the job fails.",
    (),
    1,
)
ASYNC_SCALAR_RETRY: Final = Option[str](
    "table.exec.async-scalar.retry-strategy",
    one_of("FIXED_DELAY", "NO_RETRY"),
    "FIXED_DELAY",
    "Whether the call of an async function in expressions is repeated after an exception.",
)
ASYNC_SCALAR_RETRY_DELAY: Final = Option[int](
    "table.exec.async-scalar.retry-delay",
    DURATION_MS,
    100,
    "Time before a call of an async function in expressions is repeated.",
    (),
    1,
)
ASYNC_SCALAR_ATTEMPTS: Final = Option[int](
    "table.exec.async-scalar.max-attempts",
    INTEGER,
    3,
    "Repeated calls of an async function for a row. After the last one the job fails.",
    (),
    1,
)
