"""What a slot writes and reads of snapshots, in storage and on its own disk."""
