"""Text from a format and values, as Java's formatter makes it."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Any, Final

import pyarrow as pa

from headgate.columns.functions.registry import CallSite, function
from headgate.columns.functions.text_calls import checked
from headgate.columns.json_values import written_float
from headgate.columns.logical_types import NUMBERS, STRING, TEXTS, Kind, LogicalType
from headgate.columns.typed import Typed, Values

_DIRECTIVE: Final = re.compile(r"%(?:(\d+)\$|(<))?([-#+ 0,(]*)([1-9]\d*)?(?:\.(\d+))?([bBsScCdoxXeEfgGn%])")
_BITS: Final = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
_KINDS: Final = (*TEXTS, *NUMBERS, Kind.BOOLEAN, Kind.DATE, Kind.NULL)


@function("printf")
def printf(call: CallSite) -> Typed:
    """NULL for a format that is none or does not fit the values; a value that is NULL is `null` in the text."""
    call.expect_count(1, max(len(call.arguments), 1))
    given = checked(CallSite(call.function, call.arguments[:1], (), call.zone), ["text"])
    for index in range(1, len(call.arguments)):
        call.expect(index, _KINDS, "a format, then texts, numbers, BOOLEANs or DATEs")
    kinds = [own.type for own in call.arguments[1:]]
    return call.apply(partial(_printed, kinds), STRING, (*given, *call.arguments[1:]), by_value=True, nullable=True)


def _printed(kinds: Sequence[LogicalType], *columns: Values) -> Values:
    rows = next((len(own) for own in columns if not isinstance(own, pa.Scalar)), None)
    count = 1 if rows is None else rows
    given = [[own.as_py()] * count if isinstance(own, pa.Scalar) else own.to_pylist() for own in columns]
    bits = [_BITS.get(kind.kind, 0) for kind in kinds]
    made = [None if own is None else _formatted(own, values, bits) for own, *values in zip(*given, strict=True)]
    return pa.scalar(made[0], pa.string()) if rows is None else pa.array(made, pa.string())


class _WrongFormatError(ValueError):
    """A format is none, or does not fit its value."""


def _formatted(source: str, values: Sequence[Any], bits: Sequence[int]) -> str | None:
    try:
        return "".join(_parts(source, values, bits))
    except (_WrongFormatError, IndexError):
        return None


def _parts(source: str, values: Sequence[Any], bits: Sequence[int]) -> Iterator[str]:
    at = ordinary = last = 0
    for found in _DIRECTIVE.finditer(source):
        text = source[at : found.start()]
        if "%" in text:
            raise _WrongFormatError
        yield text
        at = found.end()
        index, before, *rest = found.groups()
        directive = _Directive(*rest)
        if directive.conversion == "%":
            yield directive.wide("%")
        elif directive.conversion != "n":
            ordinary += not index and not before
            last = int(index) if index else last if before else ordinary
            if last < 1:
                raise _WrongFormatError
            directive.check()
            made = directive.text(values[last - 1], bits[last - 1])
            yield made.upper() if directive.conversion.isupper() else made
        elif found.group() == "%n":
            yield "\n"
        else:
            raise _WrongFormatError
    if "%" in source[at:]:
        raise _WrongFormatError
    yield source[at:]


@dataclass(frozen=True, slots=True)
class _Directive:
    """How one value is written."""

    flags: str
    width: str | None
    precision: str | None
    conversion: str

    def check(self) -> None:
        """Raise `_WrongFormatError` for flags and numbers that do not fit together."""
        kind, flags = self.conversion.lower(), set(self.flags)
        wrong = (
            len(flags) < len(self.flags)
            or (flags & {"-", "0"} and not self.width)
            or {"-", "0"} <= flags
            or {"+", " "} <= flags
            or flags - set(_FLAGS[kind])
            or (kind in "cdox" and self.precision is not None)
        )
        if wrong:
            raise _WrongFormatError

    def wide(self, text: str) -> str:
        if "-" in self.flags and not self.width:
            raise _WrongFormatError
        least = int(self.width or 0)
        return text.ljust(least) if "-" in self.flags else text.rjust(least)

    def text(self, value: Any, bits: int) -> str:
        """Return a value as text; `bits` is the width of an integer, 0 for other values."""
        kind = self.conversion.lower()
        if value is None or kind in "bs":
            made = _text(value is not None and value is not False) if kind == "b" else _text(value)
            return self.wide(made if self.precision is None else made[: int(self.precision)])
        if kind in "cdox":
            if not bits:
                raise _WrongFormatError
            return self.integer(kind, value, bits)
        if not isinstance(value, (float, Decimal)):
            raise _WrongFormatError
        if isinstance(value, float) and not math.isfinite(value):
            text = "NaN" if math.isnan(value) else "Infinity"
            return replace(self, flags=self.flags.replace("0", "")).signed(text, value < 0)
        exact = Decimal(repr(value)) if isinstance(value, float) else value
        precision = 6 if self.precision is None else int(self.precision)
        return self.signed(self.digits(abs(exact), precision, kind), exact.is_signed())

    def integer(self, kind: str, value: int, bits: int) -> str:
        if kind == "c":
            if not 0 <= value <= sys.maxunicode:
                raise _WrongFormatError
            return self.wide(chr(value))
        if kind == "d":
            return self.signed(f"{abs(value):,}" if "," in self.flags else f"{abs(value)}", value < 0)
        prefix = {"o": "0", "x": "0x"}[kind] if "#" in self.flags else ""
        digits = format(value & ((1 << bits) - 1), kind)
        zeros = int(self.width or 0) - len(prefix) if "0" in self.flags else 0
        return self.wide(prefix + digits.rjust(zeros, "0"))

    def digits(self, value: Decimal, precision: int, kind: str) -> str:
        if kind == "g":
            precision = precision or 1
            rounded = _rounded(value, precision - 1 - value.adjusted()) if value else value
            if not value or Decimal("1e-4") <= rounded < Decimal(10) ** precision:
                return self.digits(value, precision - 1 - (rounded.adjusted() if value else 0), "f")
            return self.digits(value, precision - 1, "e")
        point = "." if "#" in self.flags and not precision else ""
        if kind == "f":
            return format(_rounded(value, precision), ",f" if "," in self.flags else "f") + point
        exponent = value.adjusted() if value else 0
        digits = _rounded(value.scaleb(-exponent), precision)
        if digits >= 10:
            digits, exponent = _rounded(digits / 10, precision), exponent + 1
        return f"{digits:f}{point}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"

    def signed(self, digits: str, is_negative: bool) -> str:
        plus = "+" if "+" in self.flags else " " if " " in self.flags else ""
        minus, end = ("(", ")") if "(" in self.flags else ("-", "")
        start, end = (minus, end) if is_negative else (plus, "")
        zeros = int(self.width or 0) - len(start) - len(end) if "0" in self.flags else 0
        return self.wide(start + digits.rjust(zeros, "0") + end)


_FLAGS: Final = {
    "b": "-", "s": "-", "c": "-", "d": "-+ 0,(", "o": "-#0", "x": "-#0", "e": "-#+ 0(", "f": "-#+ 0,(", "g": "-+ 0,(",
}  # fmt: skip


def _rounded(value: Decimal, places: int) -> Decimal:
    return _CONTEXT.quantize(value, Decimal(1).scaleb(-places))


_CONTEXT: Final = Context(prec=1000, rounding=ROUND_HALF_UP)


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return written_float(value).strip('"') if isinstance(value, float) else str(value)
