"""Kafka as a source and as a sink, exactly once: needs the extra `headgate[kafka]`."""

from headgate.errors import EnvironmentFault

try:
    import confluent_kafka  # noqa: F401  # the modules of this package import from it
except ImportError as error:
    raise EnvironmentFault(
        "the Kafka connector needs an extra: pip install 'headgate[kafka]', in the driver and on every worker"
    ) from error
