"""Records of `from_collection` with a declared type: converted to the form that functions expect, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

from headgate.errors import ProgramError
from headgate.types.row import Row, make_row
from headgate.types.typeinfo import BasicType, BasicTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation

_INTEGERS: Final = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT)
_FLOATS: Final = (BasicType.FLOAT, BasicType.DOUBLE)
Convert = Callable[[Any], Any]
"""Returns a value in the form of its type. Raises ValueError for one that does not fit; None always fits."""

_PYTHON_TYPES: Final[dict[BasicType, tuple[type, ...]]] = {
    **dict.fromkeys(_INTEGERS, (int,)),
    BasicType.STRING: (str,),
    BasicType.CHAR: (str,),
    BasicType.BOOLEAN: (bool,),
    **dict.fromkeys(_FLOATS, (float, int)),
    BasicType.BIG_DEC: (Decimal,),
}


def typed_records(records: Iterable[Any], record_type: TypeInformation) -> list[Any]:
    """Return the records as values of the type: sequences become a `Row` or a tuple where the type is one.

    Raises ProgramError naming the first record that does not fit.

    >>> from headgate.types.typeinfo import Types
    >>> typed_records([(1, "a")], Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()]))
    [Row(id=1, name='a')]
    """
    convert = _converter(record_type)
    return [_convert_one(convert, place, record, record_type) for place, record in enumerate(records)]


def _convert_one(convert: Convert, place: int, record: Any, record_type: TypeInformation) -> Any:
    try:
        return convert(record)
    except ValueError as error:
        raise ProgramError(
            f"record {place} of from_collection() is {record!r}, which does not fit {record_type}: {error}"
        ) from None


def _converter(value_type: TypeInformation) -> Convert:
    if isinstance(value_type, RowTypeInfo):
        fields, names = [_converter(field) for field in value_type.field_types], value_type.field_names
        return lambda value: None if value is None else _to_row(value, fields, names)
    if isinstance(value_type, TupleTypeInfo):
        places = [_converter(field) for field in value_type.field_types]
        return lambda value: None if value is None else tuple(_to_values(value, places))
    if isinstance(value_type, BasicTypeInfo) and value_type.basic_type in _PYTHON_TYPES:
        basic = value_type.basic_type
        return lambda value: _checked(value, basic)
    return lambda value: value


def _to_row(value: Any, fields: list[Convert], names: tuple[str, ...]) -> Row:
    if isinstance(value, dict):
        value = [value.get(name) for name in names]
    if not isinstance(value, Row):
        return make_row(_to_values(value, fields), names)
    if value._fields is not None and set(value._fields) == set(names):
        value = make_row(value.get_fields_by_names(names), names, value.get_row_kind())
    return make_row(_to_values(value, fields), names, value.get_row_kind())


def _to_values(value: Any, fields: list[Convert]) -> list[Any]:
    if not isinstance(value, (tuple, list, Row)):
        raise ValueError(f"{value!r} is not a tuple, list or Row")
    if len(value) != len(fields):
        raise ValueError(f"it has {len(value)} fields, not {len(fields)}")
    return [convert(item) for convert, item in zip(fields, value, strict=True)]


def _checked(value: Any, basic: BasicType) -> Any:
    if value is None:
        return None
    expected = _PYTHON_TYPES[basic]
    fits = isinstance(value, expected) and (type(value) is not bool or basic is BasicType.BOOLEAN)
    if not fits:
        raise ValueError(f"{value!r} is of type {type(value).__name__}, not {expected[0].__name__}")
    return float(value) if basic in _FLOATS else value
