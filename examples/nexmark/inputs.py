"""The folder that all engines read: the events, and the table that one query looks things up in."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq

from generator.events import Settings, write
from queries.q13 import ROWS


def write_inputs(folder: Path, count: int, settings: Settings, row_group: int = 50_000) -> None:
    """Write so many events, unless the folder has the same already."""
    made = folder / "made.json"
    wanted = json.dumps({"events": count, "row_group": row_group, **asdict(settings)})
    if made.exists() and made.read_text() == wanted:
        return
    folder.mkdir(parents=True, exist_ok=True)
    made.unlink(missing_ok=True)
    shutil.rmtree(folder / "parts", ignore_errors=True)
    write(folder / "events.parquet", count, settings, row_group)
    (folder / "side_input.csv").write_text("".join(f"{number},{number}\n" for number in range(ROWS)))
    made.write_text(wanted)


def write_parts(folder: Path) -> None:
    """Write the events a second time, a file for each row group: streams of Spark SQL take whole files."""
    parts = folder / "parts"
    if parts.exists():
        return
    written = folder / "parts.part"
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir()
    events = pq.ParquetFile(folder / "events.parquet")
    for number in range(events.num_row_groups):
        pq.write_table(events.read_row_group(number), written / f"{number:04}.parquet")
    written.rename(parts)
