"""Output type: what an operator emits becomes of its declared type, a batch at a time."""

from __future__ import annotations

from typing import Any, final

from headgate.elements import Batch
from headgate.operators.base import UserCodeError
from headgate.types.conversion import UNFIT, Conversion, conversion, culprit
from headgate.types.output_tag import OutputTag
from headgate.types.type_information import TypeInformation


@final
class OutputType:
    """The declared type of a stream, as the conversion of its records."""

    def __init__(self, type_info: TypeInformation, convert: Conversion) -> None:
        self._type_info = type_info
        self._convert = convert

    @staticmethod
    def of(type_info: TypeInformation | None) -> OutputType | None:
        """Return the conversion to a type; None: records stay as they are."""
        convert = None if type_info is None else conversion(type_info)
        return None if type_info is None or convert is None else OutputType(type_info, convert)

    def converted(self, batch: Batch) -> Batch:
        """Return the batch, its records of the type; columns are taken to be. Raises `UserCodeError`."""
        if batch.columns is not None or not len(batch):
            return batch
        records = batch.records
        try:
            converted = self._convert(records)
        except UNFIT:
            index, error = culprit(self._convert, records)
            raise UserCodeError(record=records[index]) from self._refusal(error)
        if converted is not records:
            batch.records = list(converted)
        return batch

    def results(self, results: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
        """Return the results of one record, those without a tag of the type. Raises TypeError for one that is not."""
        try:
            return [value if _is_tagged(value) else self._convert([value])[0] for value in results]
        except UNFIT as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> TypeError:
        return TypeError(f"what the function emitted is not of its output type {self._type_info}: {error}")


def _is_tagged(value: object) -> bool:
    return type(value) is tuple and len(value) == 2 and type(value[0]) is OutputTag
