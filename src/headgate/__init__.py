"""headgate: stateful stream processing in Python, with Apache Flink's state and fault-tolerance model, on Spark."""

from headgate import unsupported as _unsupported

__version__ = "0.1.0"

_unsupported.install()
