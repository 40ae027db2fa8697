"""Predicates that decide which calls a retry strategy repeats, with PyFlink's names."""

from __future__ import annotations

from typing import Any

from headgate import unsupported

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate", "retry_after_predicate"]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Return whether a call returned no records.

    >>> empty_result_predicate([]), empty_result_predicate(["found"])
    (True, False)
    """
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Return whether a call raised an exception of any type."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None, expected_error_type: type[BaseException] | tuple[type[BaseException], ...]
) -> bool:
    """Return whether a call raised this type: `lambda error: exception_type_predicate(error, OSError)`."""
    return isinstance(error, expected_error_type)


def retry_after_predicate(error: BaseException | None) -> bool:
    """Return whether a call raised an exception that says when to call again, such as `RetryAfter`.

    >>> from headgate.datastream.async_retry_strategies import RetryAfter
    >>> retry_after_predicate(RetryAfter(2)), retry_after_predicate(OSError())
    (True, False)
    """
    return getattr(error, "retry_after", None) is not None


unsupported.guard(__name__, globals())
