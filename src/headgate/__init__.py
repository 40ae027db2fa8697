"""headgate: stateful stream processing in Python, with Apache Flink's state and fault-tolerance model, on Spark."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  # pip checks it, but images and archives come without pip
    raise ImportError(
        "headgate needs Python 3.11 or newer, this is {}.{}: start the driver and the workers with a newer one of the "
        "machine, or of an environment that headgate pack has made (PYSPARK_PYTHON, PYSPARK_DRIVER_PYTHON, or "
        "spark.pyspark.python)".format(*sys.version_info)
    )

from headgate import unsupported as _unsupported
from headgate.version import __version__ as __version__

_unsupported.install()
