"""Savepoints and retained checkpoints as data: read their state as tables, and write savepoints from tables.

It corresponds to Flink's State Processor API. `SavepointReader` returns any state as an Arrow table or a Spark
DataFrame. `SavepointWriter` makes a savepoint, from which a job can start, out of data or another savepoint. Both need
no running job. `register` lets Spark SQL read any state, also the state of a running job.
"""

from headgate.savepoints.checkpoint_search import newest_checkpoint
from headgate.savepoints.reader import OperatorInfo, SavepointReader, StateEntry, StateInfo
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
