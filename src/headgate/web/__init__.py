"""The REST interface of a driver: Flink's paths and field names over the jobs that it runs."""
