"""Deployment on Spark: the only part of headgate that imports pyspark."""
