"""Functions that decide after which calls another one is made, with PyFlink's names."""

from __future__ import annotations

from typing import Any

from headgate import unsupported

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Whether a call has returned no record.

    >>> empty_result_predicate([]), empty_result_predicate(["found"])
    (True, False)
    """
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Whether a call has raised something, whatever it is."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None, expected_error_type: type[BaseException] | tuple[type[BaseException], ...]
) -> bool:
    """Whether a call has raised an error of this type: `lambda error: exception_type_predicate(error, OSError)`."""
    return isinstance(error, expected_error_type)


unsupported.guard(__name__, globals())
