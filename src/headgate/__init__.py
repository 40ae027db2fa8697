"""headgate: stateful stream processing in Python, with Apache Flink's state and fault-tolerance model, on Spark."""

__version__ = "0.1.0"
