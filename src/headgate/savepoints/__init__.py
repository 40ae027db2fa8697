"""Savepoints and retained checkpoints as data: read their state as tables, and write savepoints from tables.

What Flink calls its State Processor API. `SavepointReader` gives any state as an Arrow table or a Spark DataFrame;
`SavepointWriter` makes a savepoint, for a job to start from, out of data or out of another savepoint. No job runs.
`register` lets Spark SQL read any state, also that of a running job.
"""

from headgate.savepoints.descriptions import OperatorInfo, StateEntry, StateInfo
from headgate.savepoints.newest import newest_checkpoint
from headgate.savepoints.reader import SavepointReader
from headgate.savepoints.state_table import register
from headgate.savepoints.writer import SavepointWriter

__all__ = [
    "OperatorInfo",
    "SavepointReader",
    "SavepointWriter",
    "StateEntry",
    "StateInfo",
    "newest_checkpoint",
    "register",
]
