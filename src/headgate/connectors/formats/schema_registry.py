"""A client of Confluent's schema registry. It requests each schema once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final
from urllib.parse import quote

import httpx

from headgate.connectors.formats.avro_schema import AvroSchema
from headgate.errors import EnvironmentFault, ProgramError

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
