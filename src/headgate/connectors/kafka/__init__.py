"""Kafka as a source and as a sink, exactly once: needs the extra `headgate[kafka]`."""

from headgate.errors import missing_extra

try:
    import confluent_kafka  # noqa: F401  # the modules of this package import from it
except ImportError as error:
    raise missing_extra("the Kafka connector", "kafka", error) from error
