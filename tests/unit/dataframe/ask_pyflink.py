"""Asks Flink SQL for the rows of plans, and writes them: `.venv-peers/bin/python <this file>`.

The plans are in `flink_plans.json`: add a plan with its SQL and no rows, and run this again. It takes some minutes.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

FILE = Path(__file__).with_name("flink_plans.json")
COLUMNS = """
id BIGINT, item STRING, price DOUBLE, amount DECIMAL(10, 2), pieces INT, tags ARRAY<STRING>, ts TIMESTAMP(3),
proc AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '1' HOUR
"""
TENS = """
SELECT window_time AS rt, COUNT(*) AS n, MAX(pieces) AS m
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, window_time
"""


def plain(value):
    """Return a value that JSON has."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def main():
    """Write the rows of each plan, sorted by their text."""
    asked = json.loads(FILE.read_text())
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("table.local-time-zone", "UTC").set("parallelism.default", "1")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("orders", "others"):
            path = Path(folder) / name
            path.mkdir()
            (path / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in asked[name]))
            options = f"'connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'json'"
            environment.execute_sql(f"CREATE TABLE {name} ({COLUMNS}) WITH ({options})")
        environment.execute_sql(f"CREATE VIEW tens AS {TENS}")
        for name, plan in asked["plans"].items():
            with environment.execute_sql(plan["sql"]).collect() as rows:
                plan["rows"] = sorted(([plain(value) for value in row] for row in rows), key=json.dumps)
            print(name, len(plan["rows"]), flush=True)
    tables = [f'"{name}": [\n' + ",\n".join(map(json.dumps, asked[name])) + "\n]" for name in ("orders", "others")]
    plans = ",\n".join(f"{json.dumps(name)}: {json.dumps(plan)}" for name, plan in asked["plans"].items())
    FILE.write_text("{\n" + ",\n".join(tables) + ',\n"plans": {\n' + plans + "\n}\n}\n")


main()
