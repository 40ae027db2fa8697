"""Asks Flink SQL for types and values, and writes them: `.venv-peers/bin/python <this file>`.

The expressions are the keys of `flink_sql.json`: add one with any value, and run this again. It takes ten minutes.
"""

from __future__ import annotations

import json
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

TABLE = Path(__file__).with_name("flink_sql.json")
AT_ONCE = 25


def main() -> None:
    """Write the answers."""
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    environment.get_config().set("table.local-time-zone", "UTC")
    texts = list(json.loads(TABLE.read_text()))
    lines = []
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        query = "SELECT " + ", ".join(f"{text} AS v{index}" for index, text in enumerate(some))
        schema = environment.sql_query(query)._j_table.getResolvedSchema().getColumnDataTypes()
        with environment.execute_sql(query).collect() as rows:
            [row] = list(rows)
        for index, (text, value) in enumerate(zip(some, row, strict=True)):
            kind = schema.get(index).getLogicalType().asSerializableString()
            lines.append(
                f"{json.dumps(text, ensure_ascii=False)}: {json.dumps([kind, repr(value)], ensure_ascii=False)}"
            )
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
