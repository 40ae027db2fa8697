"""The arguments of `read_kafka` and `write_kafka`, checked, as the connector takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headgate.columns.schema import Schema
from headgate.connectors.formats.message_columns import MessageFormat
from headgate.connectors.formats.message_formats import message_format
from headgate.dataframe.connectors.options import text

ALL, EXCEPT_KEY = "ALL", "EXCEPT_KEY"
_OFFSET: Final = re.compile(r"partition:(\d+),offset:(\d+)")


def texts(name: str, given: Any) -> dict[str, str]:
    """Return a dict of texts, empty for None. Raises TypeError for another value."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(own, str) for pair in given.items() for own in pair):
        raise TypeError(f"{name} is a dict of texts, not {given!r:.200}")
    return dict(given)


def choice(name: str, given: Any, *values: str) -> str:
    """Return one of several texts. Raises ValueError for another text."""
    if text(name, given) not in values:
        raise ValueError(f"{name} is {', '.join(map(repr, values))}, not {given!r}")
    return str(given)


def clients(bootstrap_servers: str, group_id: str | None, properties: Any) -> dict[str, str]:
    """Return the properties of clients of Kafka. Raises ValueError for a property that has an argument of its own."""
    found = {key.removeprefix("properties."): value for key, value in texts("properties", properties).items()}
    for key, argument in (("bootstrap.servers", "bootstrap_servers"), ("group.id", "group_id")):
        if key in found:
            raise ValueError(f"properties has {key!r}: give it as {argument}")
    if found.get("auto.offset.reset") == "none":
        found["auto.offset.reset"] = "error"  # librdkafka's name
    found["bootstrap.servers"] = text("bootstrap_servers", bootstrap_servers)
    if group_id is not None:
        found["group.id"] = text("group_id", group_id)
    return found


def refuse_options(options: Any) -> None:
    """Raise ValueError for options of Flink's connector, which all have arguments here."""
    for key in texts("options", options):
        raise ValueError(f"the option {key!r} is not supported: use the arguments of the function, and properties")


def formats(
    name: str, options: Any, key: tuple[str | None, Any], value: tuple[str | None, Any]
) -> tuple[MessageFormat, MessageFormat | None]:
    """Return the formats of values and of keys, from their names and options. Raises TypeError and ValueError."""
    key_name, key_options = key
    value_name, value_options = value
    own_name = text("format", name) if value_name is None else text("value_format", value_name)
    merged = texts("format_options", options)
    for option, chosen in texts("value_format_options", value_options).items():
        if merged.setdefault(option, chosen) != chosen:
            raise ValueError(f"format_options and value_format_options have different values for {option!r}")
    if key_name is None:
        if key_options:
            raise ValueError("key_format_options needs key_format")
        return message_format(own_name, merged), None
    key_texts = texts("key_format_options", key_options)
    return message_format(own_name, merged), message_format(text("key_format", key_name), key_texts)


def key_columns(
    schema: Schema, key: MessageFormat | None, fields: Sequence[str] | None, prefix: str | None, include: str
) -> dict[str, str]:
    """Return the columns that are in keys, with the names of the key's fields. Raises TypeError and ValueError."""
    if (key is None) != (fields is None):
        raise ValueError("key_format and key_fields go together")
    if choice("value_fields_include", include, ALL, EXCEPT_KEY) == EXCEPT_KEY and key is None:
        raise ValueError("value_fields_include='EXCEPT_KEY' needs key_format and key_fields")
    if fields is None:
        return {}
    if not isinstance(fields, list) or not all(isinstance(own, str) for own in fields):
        raise TypeError(f"key_fields is a list of names, not {fields!r:.100}")
    if not fields or len(set(fields)) < len(fields):
        raise ValueError(f"key_fields is at least one name, each once, not {fields!r:.100}")
    for own in fields:
        schema.type_of(own)  # raises for an unknown column
    if prefix is None:
        return {own: own for own in fields}
    if include == ALL:
        raise ValueError("key_fields_prefix needs value_fields_include='EXCEPT_KEY'")
    for own in fields:
        if not own.startswith(text("key_fields_prefix", prefix)) or own == prefix:
            raise ValueError(f"the column {own!r} of key_fields does not begin with key_fields_prefix, {prefix!r}")
    return {own: own.removeprefix(prefix) for own in fields}


def offsets_of(name: str, given: Any) -> dict[int, int]:
    """Return offsets by partition, of a dict or of a text as "partition:0,offset:42;partition:1,offset:300"."""
    if isinstance(given, str):
        parts = [_OFFSET.fullmatch(part.strip()) for part in given.split(";") if part.strip()]
        if not parts or not all(parts):
            raise ValueError(f"{name} is a text such as 'partition:0,offset:42;partition:1,offset:300', not {given!r}")
        return {int(part[1]): int(part[2]) for part in parts if part is not None}
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"{name} is a dict of partitions and offsets, not {given!r:.100}")
    for pair in given.items():
        for own in pair:
            if isinstance(own, bool) or not isinstance(own, int):
                raise TypeError(f"{name} is a dict of partitions and offsets, not {given!r:.100}")
            if own < 0:
                raise ValueError(f"{name} has {own}, but partitions and offsets are not negative")
    return dict(given)


def topics_of(topic: Any) -> tuple[str, ...]:
    """Return the topics of a name, of names with semicolons between them, or of a list of names."""
    given = topic.split(";") if isinstance(topic, str) else topic
    if not isinstance(given, list):
        raise TypeError(f"topic is a str or a list of str, not {topic!r:.100}")
    if not given:
        raise ValueError("topic must not be empty")
    return tuple(text("topic", own).strip() for own in given)
