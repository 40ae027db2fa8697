"""Savepoints and retained checkpoints as data: read their state as tables, and write savepoints from tables.

What Flink calls its State Processor API. `SavepointReader` gives any state as an Arrow table or a Spark DataFrame;
`SavepointWriter` makes a savepoint, for a job to start from, out of data or out of another savepoint. No job runs.
"""

from headgate.savepoints.described import OperatorInfo, StateEntry, StateInfo
from headgate.savepoints.reader import SavepointReader
from headgate.savepoints.writer import SavepointWriter

__all__ = ["OperatorInfo", "SavepointReader", "SavepointWriter", "StateEntry", "StateInfo"]
