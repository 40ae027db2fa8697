"""Keyed state in RocksDB: the state may exceed memory, and a cache of cells is in front of the database."""
