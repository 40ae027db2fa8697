"""The checkpoint coordinator: when checkpoints start, which failures count, and when the job is done. Pure."""
