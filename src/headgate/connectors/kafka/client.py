"""Makes clients of librdkafka, limits their log, and explains why a cluster cannot be used.

Without brokers, a client logs about twenty errors a second.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar, final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from headgate.connectors.kafka.properties import Properties, for_librdkafka
from headgate.errors import HeadgateError, ProgramError

_PAUSE_S: Final = 10.0
_KINDS_MAX: Final = 1000
_DETAILS: Final = re.compile(r"\([^)]*\)")
"""Details in brackets, such as the age of a connection: they differ each time."""
ANSWER_S: Final = 10.0
"""Seconds without an answer before the brokers count as unreachable."""
_ASK_S: Final = 1.0
_log = logging.getLogger(__name__)
SILENT: Final = logging.Logger(f"{__name__}.silent", logging.CRITICAL + 1)
"""The logger of clients whose callers raise their errors: nothing is logged twice."""
_Client = TypeVar("_Client")


@final
class Seldom(logging.Filter):
    """Lets the same error through once in ten seconds, over all clients of the process.

    librdkafka's records have three arguments: the kind of event, the name of the client, a text.
    """

    def __init__(self) -> None:
        super().__init__()
        self._due_s: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not isinstance(record.args, tuple) or len(record.args) != 3:
            return True
        event, _, text = map(str, record.args)
        kind = (event, _DETAILS.sub("", text))
        if record.created < self._due_s.get(kind, 0.0):
            return False
        if len(self._due_s) >= _KINDS_MAX:
            self._due_s.clear()
        self._due_s[kind] = record.created + _PAUSE_S
        return True


_log.addFilter(Seldom())


def open_client(make: Callable[[dict[str, Any]], _Client], properties: Properties) -> _Client:
    """Return a client of librdkafka that logs to Python's log. Does not connect yet.

    Raises `ProgramError` naming the property that is wrong.
    """
    try:
        return make({"logger": _log, **for_librdkafka(properties)})
    except KafkaException as error:
        raise ProgramError(
            f"a property of the Kafka client is wrong: {_text(error)}. Properties are named as in librdkafka"
        ) from error


def topics_of(
    properties: Properties, raised: type[HeadgateError], make: Callable[[dict[str, Any]], Any] = AdminClient
) -> dict[str, list[int]]:
    """Return the partitions of each topic of the cluster. Blocks for ten seconds at most.

    Raises `raised` when no broker answers, or when a broker refuses the login. `make` is the class of the client.
    """
    return {name: sorted(topic.partitions) for name, topic in _ask(properties, raised, make, None).items()}


def partitions_of(
    topic: str,
    properties: Properties,
    raised: type[HeadgateError],
    make: Callable[[dict[str, Any]], Any] = AdminClient,
) -> list[int]:
    """Return the partitions of a topic. Blocks for ten seconds at most.

    Raises `raised` as `topics_of`, and when there is no such topic. If `make` is a class of producers, brokers with
    `auto.create.topics.enable` create the topic.
    """
    found = _ask(properties, raised, make, topic)[topic]
    if found.error is not None:
        raise raised(
            f"the Kafka brokers at {properties['bootstrap.servers']} have no topic {topic!r} for this client "
            f"({found.error.str()}); create it, or correct its name or the access rights"
        )
    return sorted(found.partitions)


def _ask(
    properties: Properties,
    raised: type[HeadgateError],
    make: Callable[[dict[str, Any]], Any],
    topic: str | None,
) -> dict[str, Any]:
    said: list[KafkaError] = []
    client = open_client(make, {**properties, "error_cb": said.append, "logger": SILENT})
    deadline = time.monotonic() + ANSWER_S
    while True:
        try:
            found = client.list_topics(topic, timeout=_ASK_S).topics
            if topic is None or not _is_being_created(found[topic]) or time.monotonic() > deadline:
                return dict(found)
        except KafkaException as error:
            client.poll(0)
            refused = [each for each in said if each.code() == KafkaError._AUTHENTICATION]
            causes = [each for each in said if each.code() != KafkaError._ALL_BROKERS_DOWN]
            if refused or time.monotonic() > deadline:
                raise raised(_why(properties, refused or causes or said, error)) from error


def _is_being_created(topic: Any) -> bool:
    return topic.error is not None and topic.error.code() == KafkaError.LEADER_NOT_AVAILABLE


def _why(properties: Properties, said: list[KafkaError], error: KafkaException) -> str:
    where = properties["bootstrap.servers"]
    if said and said[-1].code() == KafkaError._AUTHENTICATION:
        return (
            f"the Kafka brokers at {where} refused the login: {said[-1].str()}. Check sasl.mechanism, sasl.username "
            "and sasl.password"
        )
    reason = said[-1].str() if said else _text(error)
    return (
        f"no Kafka broker answered at {where} within {ANSWER_S:g} s: {reason}. Check bootstrap.servers, "
        "security.protocol, and whether the brokers run"
    )


def _text(error: KafkaException) -> str:
    found = error.args[0] if error.args else error
    return (found.str() if isinstance(found, KafkaError) else str(found)).rstrip()
