"""Keyed state in RocksDB: more of it than memory holds, with a cache of cells in front."""
