"""The ids of topics: a topic that is deleted and created again has the same name, and another id."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Final, final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from headgate.connectors.kafka.client import ANSWER_S, SILENT, open_client
from headgate.connectors.kafka.properties import Properties
from headgate.errors import SourceError

CHECK_S: Final = 30.0
"""Seconds between two requests for the ids of the topics that are read."""

_NONE: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of all topics at brokers older than 2.8, which have no ids: 16 zero bytes."""


def topic_ids(topics: Iterable[str], properties: Properties) -> dict[str, str]:
    """Return the ids of topics by their names. Blocks for ten seconds at most.

    A topic that the brokers do not know, or that has no id, is left out. Raises `SourceError` when no broker answers.
    """
    names = TopicCollection(sorted(topics))
    if not names.topic_names:
        return {}
    client = open_client(AdminClient, properties)  # answers come for as long as the client lives
    found = {}
    for topic, answer in client.describe_topics(names, request_timeout=ANSWER_S).items():
        try:
            found[topic] = str(answer.result().topic_id)
        except KafkaException as error:
            if error.args[0].code() < 0:  # an error of librdkafka itself, not an answer of a broker
                raise SourceError(
                    f"the Kafka brokers at {properties['bootstrap.servers']} do not tell the id of topic {topic!r}: "
                    f"{error.args[0].str()}"
                ) from error
    return {topic: topic_id for topic, topic_id in found.items() if topic_id != _NONE}


@final
class TopicIds:
    """Requests the ids of a subtask's topics, before the first fetch and at intervals. Used by one thread."""

    def __init__(self, properties: Properties) -> None:
        self._properties = {**properties, "logger": SILENT}
        self._due_s = -math.inf

    @property
    def are_due(self) -> bool:
        """Whether the next request is due."""
        return time.monotonic() >= self._due_s

    def make_due(self) -> None:
        """Make the next request due now."""
        self._due_s = -math.inf

    def find(self, topics: set[str]) -> dict[str, str] | None:
        """Return what `topic_ids` returns, or None if no broker answers. Blocks for ten seconds at most."""
        try:
            found = topic_ids(topics, self._properties)
        except SourceError:
            return None
        self._due_s = time.monotonic() + CHECK_S
        return found
