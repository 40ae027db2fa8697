"""How wide a job is: what `headgate rescale -p N` makes of N. It loads nothing, for the sake of the command line."""

from __future__ import annotations

from collections.abc import Sequence


def as_wide(programmed: Sequence[int], most: Sequence[int], parallelism: int) -> list[int]:
    """Return the numbers of subtasks that vertices get if the job is to be as wide as `parallelism`.

    Those that the program makes as wide as the job change, as far as they may be wider. Others have as many as it says,
    but none is wider than that. `programmed` has the numbers of the program, `most` the most that there may be of each.

    >>> as_wide([2, 1, 2], [128, 128, 128], 4), as_wide([4, 3, 1], [128, 128, 1], 2), as_wide([1, 1], [128, 1], 4)
    ([4, 1, 4], [2, 2, 1], [4, 1])
    """
    widest = max(programmed)
    wanted = (parallelism if count == widest else min(count, parallelism) for count in programmed)
    return list(map(min, wanted, most))
