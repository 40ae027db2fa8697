"""Reads snapshots without a job: restores the state of an operator piece by piece and shows it as text."""
