"""From a snapshot to what each subtask starts from."""
