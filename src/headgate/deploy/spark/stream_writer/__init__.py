"""Stream writers of PySpark as sinks."""
