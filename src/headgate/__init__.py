"""headgate: stateful stream processing in Python, with Apache Flink's state and fault-tolerance model, on Spark."""

from headgate import unsupported as _unsupported
from headgate.version import __version__ as __version__

_unsupported.install()
