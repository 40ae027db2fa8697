"""Bytes: files of snapshots and deltas, codecs of values and keys, schemas and their changes."""
