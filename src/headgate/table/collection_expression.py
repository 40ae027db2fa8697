"""The functions of expressions that compute with arrays, maps and rows."""

from __future__ import annotations

from typing import Any, Self

from headgate.columns.operand import Operand


class CollectionExpression(Operand):
    """Arrays, maps and rows. Two elements are the same if they are equal, or both NULL."""

    __slots__ = ()

    def get(self, name_or_index: str | int) -> Self:
        """Return a field of a row, by its name or by its index from 0."""
        if isinstance(name_or_index, bool) or not isinstance(name_or_index, (str, int)):
            raise TypeError(f"a field is given by its name or its index, not by {name_or_index!r}")
        return self._call("get", name_or_index)

    @property
    def flatten(self) -> Self:
        """In `select`: a column for each field of a row, named `row$field`."""
        return self._call("flatten")

    def at(self, index: Any) -> Self:
        """Return the element of an array at an index from 1, or the value of a key of a map; NULL if there is none."""
        return self._call("at", index)

    def __getitem__(self, index: Any) -> Self:
        return self.at(index)

    def __iter__(self) -> Any:
        raise TypeError("an expression has no elements to iterate over: it is computed later, for each row")

    @property
    def cardinality(self) -> Self:
        """The number of elements of an array, or of entries of a map."""
        return self._call("cardinality")

    @property
    def element(self) -> Self:
        """The only element of an array; NULL if the array is empty. An array of several elements fails the job."""
        return self._call("element")

    def array_append(self, addition: Any) -> Self:
        """Return the array with one more element at its end."""
        return self._call("array_append", addition)

    def array_prepend(self, addition: Any) -> Self:
        """Return the array with one more element at its beginning."""
        return self._call("array_prepend", addition)

    def array_concat(self, *arrays: Any) -> Self:
        """Return the elements of this array and of the others, one array after the other."""
        return self._call("array_concat", *arrays)

    def array_contains(self, needle: Any) -> Self:
        """Whether an element, or NULL, is in the array."""
        return self._call("array_contains", needle)

    def array_distinct(self) -> Self:
        """Return the array without repeated elements: the first of equal elements stays."""
        return self._call("array_distinct")

    def array_except(self, array: Any) -> Self:
        """Return the elements that are not in the other array, once each, in their order."""
        return self._call("array_except", array)

    def array_intersect(self, array: Any) -> Self:
        """Return the elements that are in the other array too, once each, in their order."""
        return self._call("array_intersect", array)

    def array_union(self, array: Any) -> Self:
        """Return the elements of both arrays, once each, in their order."""
        return self._call("array_union", array)

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Self:
        """Return the texts of the array with a delimiter between them. NULL is left out if there is no replacement."""
        return self._call("array_join", delimiter, *_given(null_replacement))

    def array_max(self) -> Self:
        """Return the greatest element; NULL if there is none."""
        return self._call("array_max")

    def array_min(self) -> Self:
        """Return the least element; NULL if there is none."""
        return self._call("array_min")

    def array_position(self, needle: Any) -> Self:
        """Return the position of the first element that equals the needle, from 1; 0 if there is none."""
        return self._call("array_position", needle)

    def array_remove(self, needle: Any) -> Self:
        """Return the array without all elements that equal the given element."""
        return self._call("array_remove", needle)

    def array_reverse(self) -> Self:
        """Return the elements in reverse order."""
        return self._call("array_reverse")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Self:
        """Return the elements from one position to another, both included, or to the end.

        Positions count from 1, and from the end if they are negative. 0 is the beginning.

        >>> from headgate.table.expressions import col
        >>> col("tags").array_slice(-2)
        array_slice(tags, -2)
        """
        return self._call("array_slice", start_offset, *_given(end_offset))

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Self:
        """Return the sorted array. By default, NULL is first in ascending order and last in descending order."""
        if ascending_order is None and null_first is not None:
            ascending_order = True
        return self._call("array_sort", *_given(ascending_order, null_first))

    @property
    def map_keys(self) -> Self:
        """The keys of the map as an array."""
        return self._call("map_keys")

    @property
    def map_values(self) -> Self:
        """The values of the map as an array."""
        return self._call("map_values")

    @property
    def map_entries(self) -> Self:
        """The entries of the map as an array of rows, with the fields `key` and `value`."""
        return self._call("map_entries")

    def map_union(self, *maps: Any) -> Self:
        """Return the entries of all maps. If several maps have a key, the value of the last map counts."""
        return self._call("map_union", *maps)


def _given(*arguments: Any) -> list[Any]:
    return [own for own in arguments if own is not None]
