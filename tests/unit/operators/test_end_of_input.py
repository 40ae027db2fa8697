"""Sinks are told that no record is to follow, once, in both modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.common import Configuration
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import SinkContext


class Log(FlushingSink):
    """Appends what it is asked to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def flushing_writer(self, context: SinkContext) -> FlushingWriter:
        return LogWriter(self.path)


class LogWriter(FlushingWriter):
    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, text: str) -> None:
        with self.path.open("a") as log:
            print(text, file=log)

    def write(self, records: list[int]) -> None:
        self.note(f"write {records}")

    def flush(self) -> None:
        self.note("flush")

    def end_input(self) -> None:
        self.note("end")


@pytest.mark.parametrize("mode", RuntimeExecutionMode)
def test_a_writer_flushes_after_it_knows_that_input_has_ended(mode: RuntimeExecutionMode, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    )
    env.set_parallelism(1).set_runtime_mode(mode)
    env.from_collection([1, 2]).sink_to(Log(tmp_path / "log"))
    env.execute()
    assert (tmp_path / "log").read_text().splitlines() == ["write [1, 2]", "end", "flush"]
