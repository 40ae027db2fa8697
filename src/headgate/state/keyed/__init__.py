"""Keyed state in cells: the hash map, snapshots, increments and the changelog, timers, expiry."""
