"""The context of a pair of records that a join has found."""

from __future__ import annotations

from typing import final

from headgate.functions.joins import ProcessJoinFunction


@final
class JoinContext(ProcessJoinFunction.Context):
    """The times of the current pair: of the record that came, and of the one that was kept."""

    __slots__ = ("is_left", "kept_ms", "own_ms", "result_ms")

    is_left: bool
    """Whether the record that came is of the left stream."""
    own_ms: int
    kept_ms: int | None
    result_ms: int

    def get_left_timestamp(self) -> int | None:
        return self.own_ms if self.is_left else self.kept_ms

    def get_right_timestamp(self) -> int | None:
        return self.kept_ms if self.is_left else self.own_ms

    def get_timestamp(self) -> int:
        return self.result_ms
