"""round, truncate, floor and ceil of numbers."""

from __future__ import annotations

from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.decimal_values import fitted, relabelled
from headgate.columns.functions.registry import CallSite
from headgate.columns.logical_types import FLOATS, INTEGERS, NUMBERS, decimal
from headgate.columns.typed import Kernel, Typed, Values


def numeric_rounding(call: CallSite) -> Typed:
    """Return `floor` or `ceil` of a number, which keeps its type; a DECIMAL loses the digits after the point."""
    call.expect_count(1)
    own = call.expect(0, NUMBERS, "a number").type
    if own.kind in INTEGERS:
        return call.arguments[0]
    kernel = _WHOLE[call.function]
    if own.kind in FLOATS:
        return call.apply(kernel, own)
    result = decimal(own.precision, 0)
    return call.apply(partial(_whole_decimal, kernel, result.arrow), result)


_WHOLE: Final[dict[str, Kernel]] = {"floor": pc.floor, "ceil": pc.ceil}


def _whole_decimal(kernel: Kernel, result: pa.DataType, values: Values) -> Values:
    return fitted(kernel(relabelled(values, result.precision + 1, values.type.scale)), result)
