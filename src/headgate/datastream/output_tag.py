"""OutputTag: the name of a side output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from headgate import unsupported
from headgate.types.typeinfo import RowTypeInfo, TypeInformation

__all__ = ["OutputTag"]


@final
@dataclass(frozen=True, slots=True, init=False)
class OutputTag:
    """The name and type of a side output; a list of types stands for a row type.

    Raises ValueError for an empty name.
    """

    tag_id: str
    type_info: TypeInformation | None

    def __init__(self, tag_id: str, type_info: TypeInformation | Sequence[TypeInformation] | None = None) -> None:
        if not tag_id:
            raise ValueError("an OutputTag needs a name that is not empty")
        row = type_info is not None and not isinstance(type_info, TypeInformation)
        object.__setattr__(self, "tag_id", tag_id)
        object.__setattr__(self, "type_info", RowTypeInfo(type_info) if row else type_info)  # type: ignore[arg-type]


unsupported.guard(__name__, globals())
