"""What is printed in a slot: which lines are marked, and how it comes to the standard output of another process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from headgate.deploy.spark.logs import MarkedOutput
from headgate.deploy.spark.terminal import VARIABLE, OutputEndpoint


def test_each_line_has_the_mark_of_what_was_at_work_when_it_began() -> None:
    marks = ["[map 0] "]
    text = io.StringIO()
    output = MarkedOutput(text, lambda: marks[-1])
    print("one", 2, file=output)
    print("first\nsecond", file=output)
    print("begun", end="", file=output)
    marks.append("[key 1] ")
    print(", ended", file=output)
    print(file=output)
    marks.append("")
    print("sink> 3", file=output)
    assert text.getvalue().splitlines() == [
        "[map 0] one 2",
        "[map 0] first",
        "[map 0] second",
        "[map 0] begun, ended",
        "[key 1] ",
        "sink> 3",
    ]


def test_a_line_ends_at_its_newline_only() -> None:
    text = io.StringIO()
    print("50%\r100%", "page\fbreak", "line\u2028separator", file=MarkedOutput(text, lambda: "[map 0] "))
    assert text.getvalue() == "[map 0] 50%\r100% page\fbreak line\u2028separator\n"


def test_what_other_threads_print_is_not_taken_for_that_of_the_loop() -> None:
    text = io.StringIO()
    output = MarkedOutput(text, lambda: "[map 0] ")
    thread = threading.Thread(target=lambda: print("committed", file=output))
    thread.start()
    thread.join()
    assert text.getvalue() == "committed\n"


WORKER = """
import sys
from headgate.deploy.spark.terminal import output_of_driver
with output_of_driver():
    for number in range(3):
        print("of a slot", number)
print("of the worker")
"""


def test_a_worker_prints_to_the_standard_output_of_the_driver_behind_what_that_has_printed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        endpoint = OutputEndpoint(Path(folder) / "output")
        print("of the driver", flush=True)
        environ = {**os.environ, VARIABLE: str(Path(folder) / "output")}
        worker = [sys.executable, "-c", WORKER]
        done = subprocess.run(worker, env=environ, capture_output=True, text=True, check=True, timeout=120)
        endpoint.close()
        again = subprocess.run(worker, env=environ, capture_output=True, text=True, check=True, timeout=120)
    assert capfd.readouterr().out == "of the driver\nof a slot 0\nof a slot 1\nof a slot 2\n"
    assert done.stdout == "of the worker\n"
    assert again.stdout == "of a slot 0\nof a slot 1\nof a slot 2\nof the worker\n", "its own where nobody answers"
