"""The parts of the API that streams share: types, configuration, strategies, with the names of `pyflink.common`."""

from headgate import unsupported
from headgate.common.completable_future import CompletableFuture
from headgate.common.config_options import ConfigOption, ConfigOptions
from headgate.common.configuration import Configuration
from headgate.common.execution_config import ExecutionConfig
from headgate.common.job_client import JobClient
from headgate.common.job_execution_result import JobExecutionResult
from headgate.common.job_id import JobID
from headgate.common.job_status import JobStatus
from headgate.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from headgate.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    JsonSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from headgate.common.time import Duration, Instant, Time
from headgate.common.typeinfo import TypeInformation, Types
from headgate.common.types import Row, RowKind
from headgate.common.watermark_strategy import WatermarkStrategy
from headgate.errors import SuppressRestartsException

__all__ = [
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "JsonSchema",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "SuppressRestartsException",
    "Time",
    "TypeInformation",
    "Types",
    "WatermarkStrategy",
]

unsupported.guard(__name__, globals())
