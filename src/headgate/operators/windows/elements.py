"""Contents that are all records of a window, in order of arrival."""

from __future__ import annotations

from typing import Any, final

from headgate.functions.windows.window import Window
from headgate.operators.windows.contents import STATE_NAME, First, More, PaneContents
from headgate.operators.windows.element_slices import ElementSlices
from headgate.operators.windows.slice_values import SlicesBetween
from headgate.state.descriptors import ListStateDescriptor, StateDescriptor
from headgate.types.typeinfo import TypeInformation


@final
class Elements(PaneContents):
    """All records, in order of arrival."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = type_info

    def _descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(STATE_NAME, self._type)

    def fold(self, values: list[Any]) -> list[Any]:
        return values

    def inputs(self, window: Window) -> list[Any] | None:
        return self._passing.each_copied(self._state.get() or []) or None

    # --- as one value

    def take(self) -> Any:
        records = list(self._state.get())
        self.clear()
        return records or None

    @property
    def is_sliceable(self) -> bool:
        return True

    def steps(self) -> tuple[First, More]:
        check = self._check()
        if check is None:
            return _listed, _appended
        return lambda record: [check(record)], lambda record, records: _appended(check(record), records)

    def owner(self) -> First:
        return list

    def inputs_of(self, value: Any) -> list[Any] | None:
        return list(value)  # the function may change what it is given

    def slice_values(self, between: SlicesBetween) -> ElementSlices:
        return ElementSlices(self._check(), between, self._passing.each_copied)


def _listed(record: Any) -> list[Any]:
    return [record]


def _appended(record: Any, records: list[Any]) -> list[Any]:
    records.append(record)
    return records
