"""The REST interface of a driver: Flink's paths and field names, for the jobs that the driver runs."""
