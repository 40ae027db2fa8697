"""Kafka as a source and as a sink, exactly once: needs the extra `headgate[kafka]`."""
