"""Asks PyFlink what the tests compare with, and writes it: `PYTHONPATH=. TZ=UTC .venv-peers/bin/python <this file>`.

The schemas are called in the JVM, as the Kafka connector calls them. Run it again when `asked.py` or PyFlink changes.
"""

from __future__ import annotations

import decimal
import json
from array import array
from pathlib import Path
from typing import Any

from pyflink.common import Types
from pyflink.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from pyflink.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from pyflink.java_gateway import get_gateway

from tests.unit.connectors.formats import asked

GATEWAY = get_gateway()
JVM = GATEWAY.jvm
BROKEN = "!"


def shown(value: Any, is_float: bool = False) -> Any:
    """Return a value of Java as JSON that is alike for values of Python."""
    if isinstance(value, float):
        return repr(array("f", [value])[0] if is_float else value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    name = value.getClass().getName()
    if name == "org.apache.flink.types.Row":
        return [shown(value.getField(place), is_float) for place in range(value.getArity())]
    if name == "java.math.BigInteger":
        return int(value.toString())
    if name.startswith("["):
        return [shown(each) for each in value]
    if name == "java.util.HashMap":
        return {key: shown(value.get(key)) for key in sorted(value.keySet())}
    return value.toString()


def read(schema: Any, text: str, is_float: bool = False) -> Any:
    """Return a message's record. Py4J hands a float of 32 bits on as its shortest text, PyFlink with its bits."""
    java = schema._j_deserialization_schema
    java.open(None)
    try:
        return shown(java.deserialize(text.encode()), is_float)
    except Exception:  # noqa: BLE001
        return BROKEN


def write(schema: Any, *values: Any) -> str:
    java = schema._j_serialization_schema
    java.open(None)
    row = JVM.org.apache.flink.types.Row(len(values))
    for place, value in enumerate(values):
        row.setField(place, value)
    return bytes(java.serialize(row)).decode()


def read_json() -> dict[str, Any]:
    found = {}
    for name, kind in asked.types(Types).items():
        row = Types.ROW_NAMED(["a"], [kind])
        schemas = [
            JsonRowDeserializationSchema.builder().type_info(row).build(),
            JsonRowDeserializationSchema.builder().type_info(row).ignore_parse_errors().build(),
        ]
        texts = asked.JSON[name].split("|")
        found[name] = [
            [text, *(read(schema, f'{{"a":{text}}}', name == "FLOAT") for schema in schemas)] for text in texts
        ]
    return found


def read_csv() -> dict[str, Any]:
    kinds = asked.types(Types)
    found: dict[str, Any] = {}
    for name, fields in asked.CSV.items():
        schema = CsvRowDeserializationSchema.Builder(Types.ROW([kinds[name], Types.INT()])).build()
        found[name] = [[text, read(schema, f"{text},1", name == "FLOAT")] for text in fields.split("|")]
    pair = Types.ROW([Types.INT(), Types.STRING()])
    for name, settings in asked.OPTIONS.items():
        schema = asked.configured(CsvRowDeserializationSchema.Builder(pair), settings)
        found[name] = [[line, read(schema, line)] for line in asked.LINES]
    return found


def written() -> dict[str, Any]:
    kinds = {name: Types.ROW_NAMED(["a"], [kind]) for name, kind in asked.types(Types).items()}
    cases = [("DOUBLE", value, value) for value in asked.DOUBLES]
    cases += [("BIG_DEC", value, JVM.java.math.BigDecimal(value)) for value in asked.DECIMALS]
    cases += [("SQL_TIMESTAMP", value, JVM.java.sql.Timestamp.valueOf(value)) for value in asked.TIMESTAMPS]
    cases += [("STRING", value, value) for value in asked.TEXTS]
    found: dict[str, Any] = {"json": [], "csv": []}
    for name, value, java in cases:
        as_json = JsonRowSerializationSchema.builder().with_type_info(kinds[name]).build()
        found["json"].append([name, value, write(as_json, java)])
        found["csv"].append([name, value, write(CsvRowSerializationSchema.Builder(kinds[name]).build(), java)])
    row = Types.ROW([Types.STRING(), Types.INT(), Types.BASIC_ARRAY(Types.STRING())])
    for name, settings in asked.WRITING.items():
        schema = asked.configured(CsvRowSerializationSchema.Builder(row), settings)
        array = GATEWAY.new_array(JVM.java.lang.String, 2)
        array[0] = "x y"
        found[name] = [[text, write(schema, text, None, array)] for text in asked.TEXTS]
    return found


def text_of(answers: dict[str, dict[str, Any]]) -> str:
    """Return the answers as JSON, a line for each type or setting."""
    parts = {
        part: ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(found, ensure_ascii=False)}" for name, found in each.items()
        )
        for part, each in answers.items()
    }
    return "{\n" + ",\n".join(f"{json.dumps(part)}: {{\n{lines}\n}}" for part, lines in parts.items()) + "\n}\n"


if __name__ == "__main__":
    answers = {"read json": read_json(), "read csv": read_csv(), "written": written()}
    target = Path(__file__).with_name("pyflink_answers.json")
    target.write_text(text_of(answers))
