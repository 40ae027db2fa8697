"""Dicts as Avro messages for Confluent's schema registry, and a client of the registry.

Each message contains the id of its schema. The client requests each schema once.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final, final
from urllib.parse import quote

import httpx

from headgate.connectors.formats.avro_files import checked
from headgate.connectors.formats.avro_library import schemaless_reader, schemaless_writer
from headgate.connectors.formats.avro_schema import AvroSchema
from headgate.connectors.formats.avro_values import fitted_records
from headgate.connectors.message_schemas import DeserializationSchema, SerializationSchema
from headgate.errors import EnvironmentFault, ProgramError
from headgate.types.records import as_dict

_TIMEOUT_S: Final = 30.0
_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_LOGIN: Final = "basic.auth.user.info"
_CA: Final = "schema.registry.ssl.ca.location"
_OPTIONS: Final = (_LOGIN, _CA, "basic.auth.credentials.source")


@final
class SchemaRegistry:
    """A client of a registry. Picklable: it connects, and requests schemas, when they are first needed.

    `options` may hold `basic.auth.user.info` (`user:password`; or have them in the URL) and
    `schema.registry.ssl.ca.location` (a file of certificates to trust).
    """

    def __init__(self, url: str, options: Mapping[str, str] | None = None) -> None:
        self._urls = [each.strip().rstrip("/") for each in url.split(",") if each.strip()]
        self._options = dict(options or {})
        if not self._urls:
            raise ProgramError("a schema registry needs a URL, such as 'http://registry:8081'")
        unknown = sorted(self._options.keys() - set(_OPTIONS))
        if unknown:
            raise ProgramError(f"a schema registry has no option {unknown[0]!r}; it has {', '.join(_OPTIONS)}")
        self._schemas: dict[int, AvroSchema] = {}
        self._ids: dict[tuple[str, AvroSchema], int] = {}
        self._client: httpx.Client | None = None

    def schema(self, schema_id: int) -> AvroSchema:
        """Return the schema with this id.

        Raises EnvironmentFault if the registry does not answer, ValueError if it has no Avro schema with the id.
        """
        if schema_id not in self._schemas:
            answer = self._ask("GET", f"/schemas/ids/{schema_id}")
            if answer.get("schemaType", "AVRO") != "AVRO":
                raise ValueError(f"schema {schema_id} of {self} is {answer['schemaType']}, and not Avro")
            self._schemas[schema_id] = AvroSchema(answer["schema"])
        return self._schemas[schema_id]

    def register(self, subject: str, schema: AvroSchema) -> int:
        """Return the id of a schema, after registering the schema under the subject if it is new."""
        key = subject, schema
        if key not in self._ids:
            path = f"/subjects/{quote(subject, safe='')}/versions"
            self._ids[key] = self._ask("POST", path, {"schema": str(schema)})["id"]
        return self._ids[key]

    def _ask(self, method: str, path: str, body: dict[str, str] | None = None) -> dict[str, Any]:
        failure: Exception | None = None
        for url in self._urls:
            try:
                answer = self._connected().request(method, url + path, json=body)
            except httpx.HTTPError as error:
                failure = error
                continue
            return self._checked(answer, f"{method} {path}")
        raise EnvironmentFault(
            f"{self} cannot be reached: {failure!r}; check its URL, and that drivers and workers may connect to it"
        ) from failure

    def _checked(self, answer: httpx.Response, asked: str) -> dict[str, Any]:
        if answer.is_success:
            found: dict[str, Any] = answer.json()
            return found
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise ValueError(f"{self} does not know {asked!r}: {answer.text:.300}")
        raise EnvironmentFault(
            f"{self} answered {asked!r} with {answer.status_code}: {answer.text:.300}; "
            "check the URL and the login, and that the registry accepts the schema for this subject"
        )

    def _connected(self) -> httpx.Client:
        if self._client is None:
            user, colon, password = self._options.get(_LOGIN, "").partition(":")
            auth = (user, password) if colon else None
            verify: Any = self._options.get(_CA, True)
            headers = {"Accept": _TYPE, "Content-Type": _TYPE}
            self._client = httpx.Client(headers=headers, auth=auth, verify=verify, timeout=_TIMEOUT_S)
        return self._client

    def __reduce__(self) -> tuple[Any, ...]:
        return SchemaRegistry, (",".join(self._urls), self._options)

    def __str__(self) -> str:
        """Return the URL of the registry without the login."""
        hosts = (httpx.URL(url).copy_with(username=None, password=None) for url in self._urls)
        return f"the schema registry at {', '.join(map(str, hosts))}"


_HEADER: Final = struct.Struct(">bi")
_MAGIC: Final = 0


def schema_id_of(message: bytes) -> tuple[int, BytesIO]:
    """Return the id of a message's schema, and its record to read. Raises ValueError for other messages."""
    if len(message) < _HEADER.size:
        raise ValueError("it is too short to name its schema; it was not written with a schema registry")
    magic, schema_id = _HEADER.unpack_from(message)
    if magic != _MAGIC:
        raise ValueError(f"it begins with {magic}, not 0; it was not written with a schema registry")
    stream = BytesIO(message)
    stream.seek(_HEADER.size)
    return schema_id, stream


def framed(schema_id: int) -> bytes:
    """Return how a message begins whose schema has an id."""
    return _HEADER.pack(_MAGIC, schema_id)


@final
class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema):
    """Converts a message to a dict. The registry has the writer's schema; the dict has the schema given here.

    >>> reader = AvroSchema('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')
    >>> schema = ConfluentRegistryAvroDeserializationSchema.for_generic(reader, "http://registry:8081")
    """

    def __init__(self, schema: AvroSchema, registry: SchemaRegistry) -> None:
        self._schema = schema
        self._registry = registry

    @staticmethod
    def for_generic(
        schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Return a deserializer to dicts with `schema`. `registry_configs`: see `SchemaRegistry`."""
        return ConfluentRegistryAvroDeserializationSchema(checked(schema), SchemaRegistry(url, registry_configs))

    def deserialize(self, message: bytes) -> Any:
        schema_id, stream = schema_id_of(message)
        writer = self._registry.schema(schema_id)
        return schemaless_reader(stream, writer.parsed, None if writer == self._schema else self._schema.parsed)


@final
class ConfluentRegistryAvroSerializationSchema(SerializationSchema):
    """Converts a dict, or a row with the names of the schema, to a message. The first message registers the schema.

    >>> schema = AvroSchema('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')
    >>> ours = ConfluentRegistryAvroSerializationSchema.for_generic("orders-value", schema, "http://registry:8081")
    """

    def __init__(self, subject: str, schema: AvroSchema, registry: SchemaRegistry) -> None:
        self._subject = subject
        self._schema = schema
        self._registry = registry

    @staticmethod
    def for_generic(
        subject: str, schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Return a serializer for dicts with `schema`, which it registers under `subject`."""
        return ConfluentRegistryAvroSerializationSchema(subject, checked(schema), SchemaRegistry(url, registry_configs))

    def serialize(self, element: Any) -> bytes:
        return self.serialize_all([element])[0]

    def serialize_all(self, elements: list[Any]) -> list[bytes]:
        return list(map(self._written, fitted_records(self._schema, elements, as_dict)))

    def _written(self, datum: Any) -> bytes:
        stream = BytesIO()
        stream.write(framed(self._registry.register(self._subject, self._schema)))
        schemaless_writer(stream, self._schema.parsed, datum)
        return stream.getvalue()
