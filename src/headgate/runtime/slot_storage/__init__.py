"""The state of snapshots that a slot writes and reads, in storage and on its own disk."""
