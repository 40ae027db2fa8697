"""Tracebacks of user code as text: the same from memory as again."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from headgate.config import SettingSource
from headgate.errors import ConfigError
from headgate.operators.error_text import UserTracebacks, causes, last_line, user_frames
from headgate.options import REGISTRY


def plain(value: Any) -> None:
    raise ValueError(f"no {value}")


def deep(value: int) -> None:
    if value:
        deep(value - 1)
    plain(value)


def caused(value: Any) -> None:
    try:
        plain(value)
    except ValueError as error:
        raise LookupError(f"nor {value}") from error


def in_between(value: Any) -> None:
    try:
        plain(value)
    except ValueError:
        plain("other")


def unchained(value: Any) -> None:
    try:
        plain(value)
    except ValueError:
        raise LookupError(f"nor {value}") from None


def noted(value: Any) -> None:
    error = ValueError("two\nlines")
    error.add_note(f"seen at {value}")
    raise error


def grouped(value: Any) -> None:
    raise ExceptionGroup("some", [ValueError(f"no {value}"), KeyError(value)])


def unreadable(value: Any) -> None:
    json.loads("{" * value)


def error_of(function: Callable[[Any], Any], value: Any) -> Exception:
    try:
        function(value)
    except Exception as error:  # noqa: BLE001  # whatever it is
        return error
    raise AssertionError("nothing was raised")


FUNCTIONS = [plain, deep, caused, in_between, unchained, noted, grouped, unreadable]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_remembered_traceback_is_that_of_the_error_itself(function: Callable[[Any], Any]) -> None:
    tracebacks = UserTracebacks()
    for value in (1, 2, 5, 1, 5):
        error = error_of(function, value)
        assert tracebacks.text(error) == user_frames(error) == "".join(traceback.format_exception(error))


def refused(value: Any) -> None:
    REGISTRY.resolve([(SettingSource.CODE, {"parallelism.default": f"no number {value}"})])


def test_an_error_of_headgate_ends_with_the_line_that_called_it() -> None:
    tracebacks = UserTracebacks()
    for value in (1, 2, 1):
        error = error_of(refused, value)
        assert isinstance(error, ConfigError)
        text = user_frames(error)
        assert tracebacks.text(error) == text
        first, *frames, last = text.splitlines()
        assert [line for line in frames if line.startswith("  File")][-1].endswith("in refused")
        assert (first, last) == ("Traceback (most recent call last):", last_line(error))


def test_an_error_without_frames_of_the_user_is_its_last_line() -> None:
    assert UserTracebacks().text(ValueError("bare")) == "ValueError: bare"


def test_each_cause_is_told_once_also_in_a_circle() -> None:
    first, second = ValueError("a"), KeyError("b")
    first.__cause__, second.__cause__ = second, first
    assert list(causes(first)) == [first, second]
