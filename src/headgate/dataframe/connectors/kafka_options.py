"""The connector `kafka` by Flink's options, which become the arguments of `read_kafka` and `write_kafka`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headgate.config_kinds import INTEGER, TEXT
from headgate.dataframe.connectors.options import Options

_BOTH: Final = {
    "format": "format",
    "key.format": "key_format",
    "value.format": "value_format",
    "value.fields-include": "value_fields_include",
}
_READ: Final = {
    "topic": "topic",
    "topic-pattern": "topic_pattern",
    "properties.group.id": "group_id",
    "key.fields-prefix": "key_fields_prefix",
    "scan.startup.mode": "startup_mode",
    "scan.startup.specific-offsets": "startup_specific_offsets",
    "scan.bounded.mode": "bounded_mode",
    "scan.bounded.specific-offsets": "bounded_specific_offsets",
    "scan.topic-partition-discovery.interval": "topic_partition_discovery_interval",
}
_MILLIS: Final = {
    "scan.startup.timestamp-millis": "startup_timestamp_millis",
    "scan.bounded.timestamp-millis": "bounded_timestamp_millis",
}
_WRITTEN: Final = {
    "topic": "topic",
    "sink.delivery-guarantee": "delivery_guarantee",
    "sink.transactional-id-prefix": "transactional_id_prefix",
    "sink.partitioner": "partitioner",
}
_SERVERS: Final = "properties.bootstrap.servers"


def read_arguments(given: Any) -> dict[str, Any]:
    """Return the arguments of `read_kafka`. Raises TypeError and ValueError for wrong options."""
    options = Options("kafka", given)
    found = _arguments(options, {**_BOTH, **_READ})
    for name, argument in _MILLIS.items():
        if (millis := options.optional(name, INTEGER)) is not None:
            found[argument] = millis
    options.check()
    return found


def written_arguments(given: Any) -> dict[str, Any]:
    """Return the arguments of `write_kafka`. Raises TypeError and ValueError for wrong options."""
    options = Options("kafka", given)
    options.required("topic", TEXT)
    found = _arguments(options, {**_BOTH, **_WRITTEN})
    if (parallelism := options.optional("sink.parallelism", INTEGER)) is not None:
        found["sink_parallelism"] = parallelism
    options.check()
    return found


def _arguments(options: Options, names: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"bootstrap_servers": options.required(_SERVERS, TEXT)}
    for name, argument in names.items():
        if (value := options.optional(name, TEXT)) is not None:
            found[argument] = value
    if (fields := options.optional("key.fields", TEXT)) is not None:
        found["key_fields"] = fields.split(";")
    for argument, prefix in (("format", ""), ("key_format", "key."), ("value_format", "value.")):
        if argument in found:
            found[f"{argument}_options"] = options.below(f"{prefix}{found[argument]}.")
    if "value_format" in found and "format" not in found:
        found["format"] = found["value_format"]
    elif "format" not in found:
        options.required("format", TEXT)
    given = {_SERVERS.partition(".")[2], "group.id"}
    properties = options.below("properties.")
    found["properties"] = {name: value for name, value in properties.items() if name not in given}
    return found
