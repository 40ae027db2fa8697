"""The operators `+ - * / %`, unary minus, and floor and ceil: of times, of texts, or of numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.numbers import numeric_arithmetic
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.functions.rounding import numeric_rounding
from headgate.columns.functions.temporal import temporal_arithmetic, temporal_rounding
from headgate.columns.logical_types import STRING
from headgate.columns.typed import Typed, Values


@function("plus", "minus", "times", "divide", "modulo", "negate", "abs")
def arithmetic(call: CallSite) -> Typed:
    """NULL if an argument is NULL."""
    call.expect_count(1 if call.function in ("negate", "abs") else 2)
    if call.function == "plus" and all(own.is_text for own in call.types):
        return call.apply(_joined, STRING)
    found = temporal_arithmetic(call)
    return numeric_arithmetic(call) if found is None else found


def _joined(one: Values, other: Values) -> Values:
    return pc.binary_join_element_wise(one, other, pa.scalar(""))


@function("floor", "ceil")
def rounding(call: CallSite) -> Typed:
    """The next whole number below or above, or the beginning or end of a unit of time."""
    found = temporal_rounding(call)
    return numeric_rounding(call) if found is None else found
