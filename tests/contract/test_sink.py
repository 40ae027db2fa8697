"""The contract of sinks, on each sink."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.rolling import RollingPolicy
from headgate.connectors.files.sink import FileSink
from headgate.testing.contracts.sink import SINK_CHECKS, SinkCase, SinkTarget
from headgate.types.row import Row

WORDS = [f"word-{index}" for index in range(16)]
SCHEMA = pa.schema([("number", pa.int64()), ("word", pa.string())])


def seen(folder: Path) -> list[Path]:
    """The files that Spark, Flink and `ls` show."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))


def folders(root: Path) -> Iterator[Path]:
    for number in itertools.count():
        folder = root / str(number)
        folder.mkdir()
        yield folder


def lines(root: Path) -> SinkCase:
    made = folders(root)

    def fresh() -> SinkTarget:
        folder = next(made)
        sink = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder()).build()
        return SinkTarget(sink=sink, read=lambda: [x for path in seen(folder) for x in path.read_text().splitlines()])

    return SinkCase(fresh=fresh, records=WORDS)


def many_small_json_files(root: Path) -> SinkCase:
    made = folders(root)

    def fresh() -> SinkTarget:
        folder = next(made)
        rolling = RollingPolicy.default_rolling_policy(part_size=1)
        builder = FileSink.for_row_format(folder.as_uri(), Encoder.json_lines_encoder()).with_rolling_policy(rolling)
        return SinkTarget(sink=builder.build(), read=lambda: [row for path in seen(folder) for row in read_json(path)])

    return SinkCase(fresh=fresh, records=[{"word": word} for word in WORDS])


def read_json(path: Path) -> list[Any]:
    assert path.suffix == ".jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def parquet(root: Path) -> SinkCase:
    made, rows = folders(root), Row("number", "word")

    def fresh() -> SinkTarget:
        folder = next(made)
        return SinkTarget(
            sink=FileSink.for_bulk_format(str(folder), BulkWriterFactory.parquet_writer(SCHEMA)).build(),
            read=lambda: [rows(*row.values()) for path in seen(folder) for row in pq.read_table(path).to_pylist()],
        )

    return SinkCase(fresh=fresh, records=[rows(number, word) for number, word in enumerate(WORDS)])


CASES = [lines, many_small_json_files, parquet]


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_sink(case: Callable[[Path], SinkCase], check: Callable[[SinkCase], None], tmp_path: Path) -> None:
    check(case(tmp_path))
