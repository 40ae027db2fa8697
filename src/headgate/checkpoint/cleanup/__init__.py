"""Deletion of checkpoints and savepoints: which files no snapshot needs any more."""
