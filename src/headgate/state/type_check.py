"""The check that a value written to a state has the declared type."""

from __future__ import annotations

from typing import Any, Final, final

from headgate.errors import StateAccessError
from headgate.state.kinds.kind import StateDescriptor
from headgate.types.row import Row, make_row
from headgate.types.typeinfo import MapTypeInfo, RowTypeInfo, TypeInformation
from headgate.types.value_checks import Fits, fits_of

_EXAMPLES: Final = {int: "Types.LONG()", str: "Types.STRING()", float: "Types.DOUBLE()", bool: "Types.BOOLEAN()"}


@final
class TypeCheck:
    """The type check of one state: its values, the elements of a list state, or the keys and values of a map state.

    A row without field names gets the names of the declared row type, so a read returns it with names, as in PyFlink.
    """

    __slots__ = ("_fits", "_fits_key", "_key_type", "_names", "_type", "state")

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.state = f"{descriptor.kind.name} state {descriptor.name!r}"
        self._type, self._key_type = _types_of(descriptor)
        self._fits: Fits = fits_of(self._type)
        self._fits_key: Fits = fits_of(self._key_type)
        self._names = self._type.field_names if isinstance(self._type, RowTypeInfo) else None

    def value(self, value: Any) -> Any:
        """Return a value, or an element of a list state, as a value of the declared type.

        Raises `StateAccessError` if the value is of another type.
        """
        if not self._fits(value):
            raise self._refusal("a value", value, self._type)
        if self._names is not None and isinstance(value, Row) and value._fields is None:
            return make_row(list(value), self._names, value.get_row_kind())
        return value

    def map_key(self, key: object) -> None:
        """Raise `StateAccessError` if a key of a map state is not of the declared type."""
        if not self._fits_key(key):
            raise self._refusal("a key", key, self._key_type)

    def _refusal(self, what: str, value: object, declared: TypeInformation) -> StateAccessError:
        example = _EXAMPLES.get(type(value), "another type")
        return StateAccessError(
            f"{self.state} is declared with {declared} and was given {what} of type {type(value).__name__}: "
            f"{value!r:.100}. Write a value of that type, or declare the state with {example}, or with "
            "Types.PICKLED_BYTE_ARRAY() for values of any type"
        )


def _types_of(descriptor: StateDescriptor) -> tuple[TypeInformation, TypeInformation]:
    """Return the declared type of values, and the declared type of keys, which only a map state has."""
    declared = descriptor.type_info
    key_type = declared.key_type_info if isinstance(declared, MapTypeInfo) else declared
    return descriptor.kind.form.item_type(declared), key_type
