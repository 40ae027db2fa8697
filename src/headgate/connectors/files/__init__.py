"""Files as sources and sinks: lines, CSV, JSON and Parquet, on disks and in object stores."""
