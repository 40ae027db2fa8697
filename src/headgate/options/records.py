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
