"""What user code implements and is handed, under PyFlink's names."""

from __future__ import annotations

from headgate import unsupported
from headgate.functions.api import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from headgate.functions.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.functions.context import RuntimeContext
from headgate.functions.source import Source as SourceFunction

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "KeySelector",
    "KeyedProcessFunction",
    "MapFunction",
    "ProcessFunction",
    "ReduceFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
]

unsupported.guard(__name__, globals())
