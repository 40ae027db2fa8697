"""Properties of Kafka clients, by librdkafka's names. Java's properties of programs for Flink are translated.

Two clients use them: librdkafka carries records, and kafka-python, which has names of its own, speaks to transaction
coordinators.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from headgate.errors import ProgramError

Properties = Mapping[str, object]
"""The properties of a Kafka client that the program has set, by their keys."""

_JAAS: Final = re.compile(r'\b(username|password)\s*=\s*"([^"]*)"')
_SERIALIZERS: Final = frozenset({"key.serializer", "value.serializer", "key.deserializer", "value.deserializer"})
"""Properties of Java clients only. Here the serializers of the sink and the deserializers of the source do the work."""

_COORDINATOR_NAMES: Final = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "ssl.crl.location": "ssl_crlfile",
}
_COORDINATOR_MECHANISMS: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})


def for_librdkafka(properties: Properties) -> dict[str, Any]:
    """Return properties as librdkafka takes them. A login in Java's form is translated.

    Raises `ProgramError` for a login in Java's form without user name or password.

    >>> for_librdkafka({"key.serializer": "...", "sasl.jaas.config": 'X required username="a" password="b";'})
    {'sasl.username': 'a', 'sasl.password': 'b'}
    """
    kept = {name: value for name, value in properties.items() if name not in _SERIALIZERS}
    jaas = kept.pop("sasl.jaas.config", None)
    if jaas is not None:
        login = {f"sasl.{name}": value for name, value in _JAAS.findall(str(jaas))}
        if len(login) != 2:
            raise ProgramError(
                "the property sasl.jaas.config of a Kafka client has no username and password; set sasl.mechanism, "
                "sasl.username and sasl.password instead"
            )
        kept.update(login)
    return kept


def for_coordinator(properties: Properties) -> dict[str, Any]:
    """Return the settings of the connection, as kafka-python takes them, from librdkafka's properties.

    Raises `ProgramError` for a login that transactions cannot use.
    """
    properties = for_librdkafka(properties)
    found = {new: properties[old] for old, new in _COORDINATOR_NAMES.items() if old in properties}
    found["bootstrap_servers"] = [each.strip() for each in str(properties["bootstrap.servers"]).split(",")]
    protocol = str(found.get("security_protocol", "PLAINTEXT")).upper()
    found["security_protocol"] = protocol
    if protocol.startswith("SASL") and found.get("sasl_mechanism", "GSSAPI") not in _COORDINATOR_MECHANISMS:
        raise ProgramError(
            f"exactly-once output to Kafka needs a login by one of {', '.join(sorted(_COORDINATOR_MECHANISMS))}, and "
            f"sasl.mechanism is {found.get('sasl_mechanism', 'GSSAPI')}; use DeliveryGuarantee.AT_LEAST_ONCE with this"
        )
    if str(properties.get("ssl.endpoint.identification.algorithm", "https")).lower() == "none":
        found["ssl_check_hostname"] = False
    return found
