"""Functions of users within expressions: each is opened in the slot before it computes, and closed at the end."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class UserKernel(Protocol):
    """A kernel that runs code of the user. Called with the number of rows, and the values of the arguments."""

    def open(self, runtime: Any) -> None:
        """Make what the function needs in this slot. `runtime` is the `RuntimeContext` of the operator."""
        ...

    def __call__(self, rows: int, *arguments: Any) -> Any:
        """Return the column. Raises `FailedRowError` for a function of single rows."""
        ...

    def close(self) -> None:
        """Release what `open` made. Called also after a failure, and before `open`."""
        ...


class FailedRowError(Exception):
    """A function of single rows raised `__cause__` for the row at a position. `during` names the function."""

    def __init__(self, row: int, during: str) -> None:
        super().__init__(during)
        self.row = row
        self.during = during
