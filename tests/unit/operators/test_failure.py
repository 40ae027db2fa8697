"""Failure reports: only text, only the user's frames, bounded in length, and made also of hostile objects."""

from __future__ import annotations

import re

import pytest

from headgate.errors import (
    DamagedFileError,
    EnvironmentFault,
    ProgramError,
    RestoreError,
    StorageError,
    SuppressRestartsException,
    UnsupportedError,
)
from headgate.operators.base import UserCodeError
from headgate.operators.error_text import short_repr
from headgate.operators.failure import failure_of, is_retriable
from headgate.operators.plain_functions import MapFactory
from headgate.testing.harness import OperatorHarness


def users_function(value: int) -> float:
    return 1 / value


def raised(value: object, function: object = users_function) -> UserCodeError:
    with OperatorHarness(MapFactory(function)) as harness, pytest.raises(UserCodeError) as caught:
        harness.process(value)
    return caught.value


def test_a_report_shows_error_operator_record_and_only_the_users_frames() -> None:
    report = failure_of(raised(0), "divide", 3)
    assert report.error == "ZeroDivisionError: division by zero"
    assert (report.operator, report.subtask, report.record, report.key) == ("divide", 3, "0", None)
    assert "users_function" in report.traceback
    assert "operators/map.py" not in report.traceback
    assert report.describe().startswith("ZeroDivisionError: division by zero\n  in operator 'divide', subtask 3")


def test_the_error_that_led_to_the_error_is_shown() -> None:
    def wrapping(value: int) -> float:
        try:
            return users_function(value)
        except ZeroDivisionError as error:
            raise ValueError("cannot divide") from error

    report = failure_of(raised(0, wrapping), "divide", 0)
    assert report.error == "ValueError: cannot divide"
    assert "ZeroDivisionError" in report.traceback


def test_an_error_raised_outside_user_code_has_no_frames_of_ours() -> None:
    with OperatorHarness(MapFactory(users_function)) as harness, pytest.raises(UserCodeError) as caught:
        harness.process("text")
    assert failure_of(caught.value, "divide", 0).error.startswith("TypeError")


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr today")


@pytest.mark.parametrize("value", ["x" * 10**6, list(range(10**5)), {"k" * 10**5: "v" * 10**5}, Hostile(), [Hostile()]])
def test_records_are_shown_shortly_whatever_they_are(value: object) -> None:
    assert len(short_repr(value)) < 1000


def test_a_report_is_made_of_an_error_that_cannot_be_shown() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def failing(value: object) -> None:
        raise Mute

    report = failure_of(raised(Hostile(), failing), "mute", 0)
    assert "Mute" in report.error
    assert report.record is not None


@pytest.mark.parametrize(
    ("error", "mends"),
    [
        (OSError("no database"), True),
        (StorageError("timeout"), True),
        (DamagedFileError("torn"), False),
        (RestoreError("another type"), False),
        (ProgramError("declared twice"), False),
        (UnsupportedError("no such state"), False),
        (EnvironmentFault("no module"), False),
        (ModuleNotFoundError("No module named 'shop'", name="shop"), False),
    ],
)
def test_a_restart_is_tried_only_where_it_can_help(error: Exception, mends: bool) -> None:
    assert is_retriable(error) is mends
    wrapped = UserCodeError(during="open()")
    wrapped.__cause__ = error
    assert is_retriable(wrapped) is mends


def test_user_code_can_say_that_a_restart_does_not_help_itself_or_as_the_cause_of_an_error() -> None:
    def refusing(value: int) -> int:
        raise SuppressRestartsException("no such table")

    def wrapping(value: int) -> int:
        try:
            return refusing(value)
        except SuppressRestartsException as error:
            raise ValueError("cannot load") from error

    assert not is_retriable(raised(1, refusing))
    assert not is_retriable(raised(1, wrapping))
    assert is_retriable(raised(0))


def test_errors_that_cause_each_other_are_looked_at_once() -> None:
    one, other = ValueError(), ValueError()
    one.__cause__, other.__cause__ = other, one
    assert is_retriable(one)


def test_a_module_that_a_function_misses_is_told_with_how_to_ship_it() -> None:
    error = ModuleNotFoundError("No module named 'shop'", name="shop")
    assert re.search(
        r"No module named 'shop'; the package shop must .*headgate pack", failure_of(error, "price", 0).error
    )
