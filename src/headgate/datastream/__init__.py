"""The streaming API, with the names of `pyflink.datastream`."""

from __future__ import annotations

from headgate import unsupported
from headgate.datastream.checkpoint_config import CheckpointConfig
from headgate.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from headgate.datastream.checkpointing_mode import CheckpointingMode
from headgate.datastream.data_stream import (
    BroadcastConnectedStream,
    BroadcastStream,
    CloseableIterator,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    KeyedStream,
)
from headgate.datastream.execution_mode import RuntimeExecutionMode
from headgate.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headgate.datastream.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
)
from headgate.datastream.legacy import (
    ExternalizedCheckpointCleanup,
    FsStateBackend,
    MemoryStateBackend,
    TimeCharacteristic,
)
from headgate.datastream.output_tag import OutputTag
from headgate.datastream.record_errors import FailedRecord, RecordErrors
from headgate.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from headgate.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    RocksDBStateBackend,
    StateBackend,
)
from headgate.datastream.stream_execution_environment import StreamExecutionEnvironment
from headgate.datastream.time_domain import TimeDomain
from headgate.datastream.timerservice import TimerService

__all__ = [
    "AggregateFunction",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExternalizedCheckpointCleanup",
    "ExternalizedCheckpointRetention",
    "FailedRecord",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatMapFunction",
    "FsStateBackend",
    "HashMapStateBackend",
    "JobManagerCheckpointStorage",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MemorySize",
    "MemoryStateBackend",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessFunction",
    "RecordErrors",
    "ReduceFunction",
    "RocksDBStateBackend",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeCharacteristic",
    "TimeDomain",
    "TimerService",
]

unsupported.guard(__name__, globals())
