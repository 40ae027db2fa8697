"""Options of where keyed state lives while a job runs."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, DURATION_MS, SIZE_BYTES, TEXT, one_of

STATE_BACKEND: Final = Option[str](
    "state.backend.type",
    one_of(
        "hashmap",
        "rocksdb",
        synonyms={"jobmanager": "hashmap", "filesystem": "hashmap"},
        refused=("state.backend.type=forst",),
    ),
    "hashmap",
    "Where keyed state lives while the job runs.",
    ("state.backend",),
)
LOCAL_DIRS: Final = Option[str | None](
    "io.tmp.dirs",
    TEXT,
    None,
    "Folders for the local files of slots, separated by commas. Not set: Spark's folders (spark.local.dir), else "
    "the temporary folder of the system.",
)
ROCKSDB_LOCAL_DIR: Final = Option[str | None](
    "state.backend.rocksdb.localdir",
    TEXT,
    None,
    "Folders on local disks of every worker, separated by commas, for the files of RocksDB; each database is in "
    "one of them. Not set: a temporary folder.",
)
ROCKSDB_WRITE_BUFFER_SIZE: Final = Option[int](
    "state.backend.rocksdb.writebuffer.size",
    SIZE_BYTES,
    64 * 2**20,
    "Memory of each keyed operator in a slot for rows on their way to disk.",
    (),
    2**16,
)
ROCKSDB_BLOCK_CACHE_SIZE: Final = Option[int](
    "headgate.rocksdb.block-cache-size",
    SIZE_BYTES,
    64 * 2**20,
    "Memory of each keyed operator in a slot for data, indices and filters that RocksDB has read from disk.",
    (),
    2**16,
)
ROCKSDB_CACHE_SIZE: Final = Option[int](
    "headgate.rocksdb.cache-size",
    SIZE_BYTES,
    256 * 2**20,
    "Estimated memory of each keyed operator in a slot for state as Python objects, in front of RocksDB.",
    (),
    1,
)
CHANGELOG: Final = Option[bool](
    "state.changelog.enabled",
    BOOLEAN,
    False,
    "Whether changes of keyed state are written ahead of the barriers, which makes checkpoints short.",
    ("state.backend.changelog.enabled",),
)
CHANGELOG_MATERIALIZATION_INTERVAL: Final = Option[int](
    "state.changelog.periodic-materialize.interval",
    DURATION_MS,
    600_000,
    "Time between whole snapshots of state with a changelog. 0: only when the log is long.",
    ("state.backend.changelog.periodic-materialize.interval",),
)
CHANGELOG_CUT_INTERVAL: Final = Option[int](
    "headgate.changelog.cut-interval",
    DURATION_MS,
    1000,
    "Time between two parts of the changelog that are written ahead of a barrier.",
    (),
    1,
)
