"""A source and a sink of Delta Lake tables. Needs the extra: pip install 'headgate[delta]'.

table.py        the place of a table, its folder, its creation, and commits that are made once
columns.py      the columns of a table, and whether they fit a sink
writer.py       the writer of a subtask; data_files.py and statistics.py: its files and their statistics in the log
source.py       the rows of a version of a table
sink.py         the sink, and what makes files and log durable on a local disk
"""

from headgate.errors import missing_extra

try:
    import deltalake  # noqa: F401  # the modules of this package import from it
except ImportError as error:
    raise missing_extra("the Delta Lake connector", "delta", error) from error

from headgate.connectors.delta.sink import DeltaSink

__all__ = ["DeltaSink"]
