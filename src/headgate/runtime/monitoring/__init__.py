"""Figures of a running job: statistics of checkpoints, metrics, failures."""
