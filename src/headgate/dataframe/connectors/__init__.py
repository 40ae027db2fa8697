"""Sources and sinks of DataFrames: files, topics, tables, and connectors by Flink's identifiers."""
