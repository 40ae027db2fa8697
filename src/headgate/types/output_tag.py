"""OutputTag: names a side output, with PyFlink's constructor."""

from __future__ import annotations

from typing import ClassVar, final

from headgate import unsupported
from headgate.errors import ProgramError
from headgate.types.typeinfo import TypeInformation


@final
class OutputTag:
    """Names a side output of an operator. Tags of the same id are equal.

    `yield tag, value` in a process function emits `value` to the side output; `stream.get_side_output(tag)` is the
    stream of these values. Raises ProgramError for an id that is not text, or is empty.

    >>> OutputTag("late") == OutputTag("late")
    True
    """

    in_use: ClassVar[bool] = False
    """Whether this process has ever seen a tag: without one, results need not be searched for tags."""

    def __init__(self, tag_id: str, type_info: TypeInformation | None = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise ProgramError(f"an OutputTag needs an id, such as 'late', not {tag_id!r}")
        self.tag_id = tag_id
        self.type_info = type_info
        OutputTag.in_use = True

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        OutputTag.in_use = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"


unsupported.guard_members("datastream.output_tag", globals())
