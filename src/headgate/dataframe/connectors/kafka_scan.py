"""Topics of Kafka as the source of a DataFrame, of the columns that a plan reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from headgate.columns.schema import Schema
from headgate.connectors.formats.message_columns import MessageFormat
from headgate.connectors.kafka.columns import FAILED_ROWS, ColumnDecoding, FailedDecoding, MessageRows
from headgate.connectors.kafka.offsets import KafkaOffsetsInitializer
from headgate.connectors.kafka.source import KafkaSource, Subscription


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageParts:
    """The formats of a message's value and key.

    `key_fields` maps columns of `schema` to the fields of the key. The value has all other columns, and with
    `value_has_key` also these.
    """

    schema: Schema
    value: MessageFormat
    key: MessageFormat | None
    key_fields: Mapping[str, str]
    value_has_key: bool

    def rows(self, columns: Sequence[str]) -> MessageRows:
        """Return how messages become rows of these columns. Raises ValueError for a type that a format lacks."""
        of_key = {} if self.key is None or self.value_has_key else self.key_fields
        in_value, in_key = ([name for name in columns if (name in of_key) == is_key] for is_key in (False, True))
        value = key = None
        if in_value:
            whole = self.schema.only(name for name in self.schema.names if name not in of_key)
            value = self.value.decoder(whole, self.schema.only(in_value))
        if in_key and self.key is not None:
            key = self.key.decoder(self._of_key(of_key), self._of_key({name: of_key[name] for name in in_key}))
        places = tuple([*in_value, *in_key].index(name) for name in columns)
        return MessageRows(schema=self.schema.only(columns), value=value, key=key, places=places)

    def strict(self) -> MessageParts:
        """Return the parts with formats that leave nothing out."""
        key = None if self.key is None else replace(self.key, ignore_errors=False)
        return replace(self, value=replace(self.value, ignore_errors=False), key=key)

    def _of_key(self, fields: Mapping[str, str]) -> Schema:
        """Return the types of columns, by the names of their fields in the key."""
        return Schema((field, self.schema.type_of(name)) for name, field in fields.items())

    @property
    def ignore_errors(self) -> bool:
        """Whether messages that are no rows are left out."""
        return self.value.ignore_errors or (self.key is not None and self.key.ignore_errors)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KafkaScan:
    """The messages of topics as rows; with `fails`, the messages that cannot be decoded."""

    parts: MessageParts
    properties: Mapping[str, str]
    subscription: Subscription
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None
    fails: bool = False
    conforms = True

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        return FAILED_ROWS if self.fails else self.parts.schema

    def failed_rows(self) -> KafkaScan:
        """Return the messages that are no rows."""
        return replace(self, fails=True)

    def source(self, columns: Sequence[str]) -> KafkaSource:
        return KafkaSource(
            properties=self.properties,
            subscription=self.subscription,
            decoding=FailedDecoding(self.parts.strict().rows(self.parts.schema.names), tuple(columns))
            if self.fails
            else ColumnDecoding(self.parts.rows(columns), self.parts.ignore_errors),
            start=self.start,
            stop=self.stop,
            is_bounded=self.stop is not None,
            client_id_prefix=None,
        )
