"""Restoring: the choice of a snapshot, and the state that it gives to each subtask."""
