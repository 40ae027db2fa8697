"""Batch jobs on Spark SQL."""
