"""A sink to Delta Lake tables. Needs the extra: pip install 'headgate[delta]'.

table.py        where a table is, its beginning, and commits that are made once
columns.py      what may be in a table, and whether a table takes what a sink writes
writer.py       what a subtask writes; data_files.py and statistics.py: its files and what the log says of them
folder.py       the table's folder as a file system; disk.py: what makes it durable
"""

from headgate.connectors.delta.sink import DeltaSink

__all__ = ["DeltaSink"]
