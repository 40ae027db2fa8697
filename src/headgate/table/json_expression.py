"""The functions of expressions that work on JSON in texts."""

from __future__ import annotations

from typing import Any, Self

from headgate.columns.given_types import logical_type
from headgate.columns.logical_types import STRING
from headgate.columns.operand import Operand
from headgate.table.json_behavior import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)


class JsonExpression(Operand):
    """Functions of JSON. A path such as `$.a[0].b` is strict: a missing part is an error. It is none in `lax $.a`."""

    __slots__ = ()

    def is_json(self, json_type: JsonType | None = None) -> Self:
        """Whether the text is JSON, of the given kind if there is one; false for NULL."""
        return self._call("is_json", options=() if json_type is None else (json_type.name,))

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Self:
        """Whether a path leads to a value; false for an error unless `on_error` says otherwise."""
        return self._call("json_exists", path, options=() if on_error is None else (on_error.name,))

    def json_value(  # noqa: PLR0913  # PyFlink's
        self,
        path: str,
        returning_type: Any = STRING,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Self:
        """Return the text, number or BOOLEAN that a path leads to, as a text or as another type.

        >>> from headgate.table.expressions import col
        >>> col("order").json_value("$.price", "DOUBLE")
        json_value(order, '$.price', DOUBLE, 'NULL', None, 'NULL', None)
        """
        kind = logical_type(returning_type)
        options = (kind, on_empty.name, default_on_empty, on_error.name, default_on_error)
        return self._call("json_value", path, options=options)

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Self:
        """Return the JSON object or array that a path leads to, as a text."""
        return self._call("json_query", path, options=(wrapping_behavior.name, on_empty.name, on_error.name))

    def json_quote(self) -> Self:
        """Return the text as a JSON text, in quotes and ASCII."""
        return self._call("json_quote")

    def json_unquote(self) -> Self:
        """Return the value of a JSON text in quotes; another text is returned as it is.

        A text in quotes that is not valid JSON fails the job.
        """
        return self._call("json_unquote")
