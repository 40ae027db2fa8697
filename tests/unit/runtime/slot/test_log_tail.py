"""The lines of a slot on their way to the driver: whole, bounded, and counted where they are left out."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from headgate.runtime.control.messages import LogLine
from headgate.runtime.monitoring.progress import LINES_MAX as KEPT_MAX
from headgate.runtime.monitoring.progress import SlotLog
from headgate.runtime.slot.log_tail import CHARACTERS_MAX, LINE_MAX, LINES_MAX, LogTail


@pytest.fixture
def tail() -> Iterator[LogTail]:
    found = LogTail()
    logger = logging.getLogger("tests.tail")
    logger.addHandler(found)
    yield found
    logger.removeHandler(found)


def texts(lines: tuple[LogLine, ...]) -> list[str]:
    return [line.text for line in lines]


def test_what_is_logged_and_printed_is_taken_once(tail: LogTail) -> None:
    logging.getLogger("tests.tail").warning("a %s", "line")
    for part in ("[map 0] ", "one", "\n", "two\nthr"):
        tail.printed(part)
    taken = tail.take()
    assert [(line.level, line.text) for line in taken] == [
        ("WARNING", "a line"),
        ("PRINTED", "[map 0] one"),
        ("PRINTED", "two"),
    ]
    assert tail.take() == ()
    tail.printed("ee\n")
    assert texts(tail.take()) == ["three"]


def test_a_call_that_cannot_be_formatted_raises_nothing_where_it_logs(
    tail: LogTail, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("tests.tail"), "propagate", False)  # pytest's own handler raises
    logging.getLogger("tests.tail").warning("%d things", "many")
    assert tail.take() == ()
    assert "%d things" in capsys.readouterr().err


def test_a_flood_of_lines_is_counted_and_the_next_report_begins_again(tail: LogTail) -> None:
    tail.printed("x\n" * (LINES_MAX + 50))
    taken = tail.take()
    assert len(taken) == LINES_MAX + 1
    assert taken[-1].text == "(50 more lines are not shown)"
    tail.printed("again\n")
    assert texts(tail.take()) == ["again"]


def test_long_lines_are_cut_and_a_report_is_small(tail: LogTail) -> None:
    tail.printed("y" * 10_000_000 + "\n")
    for _ in range(LINES_MAX):
        tail.printed("z" * 10_000 + "\n")
    tail.printed("behind it\n")
    taken = tail.take()
    assert taken[0].text == "y" * LINE_MAX
    assert taken[1].text == "z" * LINE_MAX
    assert max(len(line.text) for line in taken) <= LINE_MAX
    assert sum(len(line.text) for line in taken) <= CHARACTERS_MAX + 2 * LINE_MAX


def test_the_driver_keeps_the_newest_lines_and_gives_those_behind_a_number() -> None:
    log = SlotLog()
    log.add(LogLine(wall_ms=n, level="INFO", text=str(n)) for n in range(1, KEPT_MAX + 101))
    assert log.count == KEPT_MAX + 100
    assert [number for number, _ in log.after(0, 3)] == [1098, 1099, 1100]
    assert [line.text for _, line in log.after(1098, 500)] == ["1099", "1100"]
    assert log.after(1100, 500) == []
    assert len(log.after(0, 5_000)) == KEPT_MAX
