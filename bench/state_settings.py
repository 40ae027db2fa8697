"""Settings of jobs by what holds their state."""

from __future__ import annotations

from bench.inputs import SPREAD_KEYS

CELL_BYTES = 400
"""About what a cell of the count takes in a cache, as the backend estimates it."""

INCREMENTAL = {"execution.checkpointing.incremental": "true"}
CHANGELOG = {"state.changelog.enabled": "true"}
ROCKSDB = {"state.backend.type": "rocksdb"}
ROCKSDB_BIG = ROCKSDB | INCREMENTAL | {"headgate.rocksdb.cache-size": "256 mb"}
ROCKSDB_TENTH = ROCKSDB | {"headgate.rocksdb.cache-size": f"{SPREAD_KEYS // 10 * CELL_BYTES} b"}
