"""Store: an open database with all that reads and writes its rows."""

from __future__ import annotations

from typing import final

from headgate.state.rocksdb.cell_rows import CellRows
from headgate.state.rocksdb.database import Memory, RocksDatabase
from headgate.state.rocksdb.flush import Cells, Frames
from headgate.state.rocksdb.groups import KeyGroups
from headgate.state.rocksdb.items import Items
from headgate.state.rocksdb.layouts import Layouts
from headgate.state.rocksdb.timers import TimerRows


@final
class Store:
    """Belongs to the loop."""

    def __init__(
        self, database: RocksDatabase, layouts: Layouts, groups: KeyGroups, memory: Memory, frames: Frames | None
    ) -> None:
        self.database = database
        self.layouts = layouts
        self.groups = groups
        self.items = Items(database, layouts, groups)
        self.rows = CellRows(database, groups, memory.write_buffer_bytes)
        self.cells = Cells(self.rows, self.items, layouts, frames)
        self.timers = TimerRows(database, layouts, groups)
