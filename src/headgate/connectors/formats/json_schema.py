"""Derives a type from a JSON schema, by the rules of Flink."""

from __future__ import annotations

import json
from typing import Any, Final

from headgate.errors import ProgramError
from headgate.types.typeinfo import RowTypeInfo, TypeInformation, Types

_SIMPLE: Final = {
    "boolean": Types.BOOLEAN(),
    "integer": Types.BIG_DEC(),
    "null": Types.SQL_NULL(),
    "number": Types.BIG_DEC(),
}
_FORMATS: Final = {"date": Types.SQL_DATE(), "time": Types.SQL_TIME(), "date-time": Types.SQL_TIMESTAMP()}
_PRIMITIVE: Final = frozenset([Types.STRING(), Types.BOOLEAN()])


def type_of_json_schema(json_schema: str) -> TypeInformation:
    """Return the type for a JSON schema. Numbers are decimals. Raises ProgramError naming a part without a type.

    >>> type_of_json_schema('{"type": "object", "properties": {"id": {"type": "integer"}}}')
    RowTypeInfo(id: BigDecimal)
    """
    try:
        root = json.loads(json_schema)
    except ValueError as error:
        raise ProgramError(f"the JSON schema is not JSON: {error}") from None
    return _type(root, root, "<root>")


def _type(root: Any, node: Any, place: str) -> TypeInformation:
    if not isinstance(node, dict):
        raise ProgramError(f"no type could be found in the JSON schema at {place}")
    if "$ref" in node:
        node = _referred(root, node["$ref"])
    for word in ("allOf", "anyOf", "not", "extends", "disallow"):
        if word in node:
            raise ProgramError(f"the JSON schema has {word!r} at {place}, which has no type; give each value one type")
    if "oneOf" in node:
        return _one_of([_type(root, each, place) for each in node["oneOf"]], place)
    kinds = node.get("type")
    if isinstance(kinds, list):
        return _one_of([_single(root, node, kind, place) for kind in kinds], place)
    if not isinstance(kinds, str):
        raise ProgramError(f"no type could be found in the JSON schema at {place}")
    return _single(root, node, kinds, place)


def _referred(root: Any, reference: str) -> Any:
    if not reference.startswith("#/"):
        raise ProgramError(f"the JSON schema refers to {reference!r}; refer to a place in the schema, such as '#/x'")
    node = root
    for name in reference.removeprefix("#/").split("/"):
        if not isinstance(node, dict) or name not in node:
            raise ProgramError(f"the JSON schema refers to {reference!r}, which is not there")
        node = node[name]
    if isinstance(node, dict) and "$ref" in node:
        raise ProgramError(f"the JSON schema refers to {reference!r}, which refers to another place; write it out")
    return node


def _one_of(types: list[TypeInformation], place: str) -> TypeInformation:
    """Return the type of a union of one type and null."""
    some = list(dict.fromkeys(each for each in types if each != Types.SQL_NULL()))
    if len(some) > 1:
        raise ProgramError(f"the JSON schema has a union of {some} at {place}; only one type and null can be one")
    return some[0] if some else Types.SQL_NULL()


def _single(root: Any, node: dict[str, Any], kind: str, place: str) -> TypeInformation:
    match kind:
        case "string":
            return _string(node, place)
        case "object":
            fields = node.get("properties", {})
            return RowTypeInfo([_type(root, field, f"{place}/{name}") for name, field in fields.items()], [*fields])
        case "array":
            return _array(root, node, place)
    if kind not in _SIMPLE:
        raise ProgramError(f"the JSON schema has the type {kind!r} at {place}, which JSON does not have")
    return _SIMPLE[kind]


def _string(node: dict[str, Any], place: str) -> TypeInformation:
    if "format" in node:
        return _FORMATS.get(node["format"], Types.STRING())
    encoding = node.get("contentEncoding")
    if encoding not in (None, "base64"):
        raise ProgramError(f"the JSON schema has the encoding {encoding!r} at {place}; only base64 is known")
    return Types.STRING() if encoding is None else Types.PRIMITIVE_ARRAY(Types.BYTE())


def _array(root: Any, node: dict[str, Any], place: str) -> TypeInformation:
    items = node.get("items")
    if items is None:
        raise ProgramError(f"the JSON schema has an array without 'items' at {place}; say what type the items have")
    if isinstance(items, list):
        if node.get("additionalItems"):
            raise ProgramError(f"the JSON schema allows additional items at {place}; leave 'additionalItems' out")
        return RowTypeInfo([_type(root, item, f"{place}/[{index}]") for index, item in enumerate(items)])
    element = _type(root, items, f"{place}/items")
    return Types.BASIC_ARRAY(element) if element in _PRIMITIVE else Types.OBJECT_ARRAY(element)
