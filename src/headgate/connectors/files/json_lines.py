"""JSON lines: each line a JSON value."""

from __future__ import annotations

import json
from json.scanner import make_scanner
from typing import Any, Final, NoReturn, final

from headgate.connectors.files.lines import (
    BrokenLine,
    Decoded,
    LineDecoder,
    describe_undecodable,
    split_lines,
    split_raw_lines,
)
from headgate.types.json_values import json_batch_converter, json_converter
from headgate.types.typeinfo import TypeInformation, Types


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder: Final = json.JSONDecoder(parse_constant=_no_constant)
# The scanner takes no blanks before a value and does not look behind it, but it is the part that is written in C.
_scan: Final = make_scanner(_decoder)  # type: ignore[arg-type]  # wrong in the stubs


@final
class JsonLinesDecoder(LineDecoder):
    """Decodes a block at once, or line by line when something in it is out of the ordinary."""

    def __init__(self, types: TypeInformation | None) -> None:
        kind = Types.PICKLED_BYTE_ARRAY() if types is None else types
        self._convert = json_converter(kind)
        self._convert_batch = json_batch_converter(kind)

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        try:
            return Decoded(self._decode_at_once(split_lines(block.decode())))
        except (ValueError, StopIteration, RecursionError):
            return self._decode_each(split_raw_lines(block))

    def _decode_at_once(self, lines: list[str]) -> list[Any]:
        """Return a record for each line. Raises when a line is blank, broken or has blanks around its value."""
        scanned = [_scan(line, 0) for line in lines]
        if [end for _, end in scanned] != list(map(len, lines)):
            raise ValueError("there is something after a value")
        values = [value for value, _ in scanned]
        if None in values:
            raise ValueError("null is not a record")
        return self._convert_batch(values)

    def _record(self, value: Any) -> Any:
        if value is None:
            raise ValueError("null is not a record")
        return self._convert(value)

    def _decode_each(self, lines: list[bytes]) -> Decoded:
        decoded = Decoded([], [])
        assert decoded.lines_after is not None
        for index, line in enumerate(lines):
            if line.isspace() or not line:
                continue
            try:
                record = self._record(_decoder.decode(line.decode()))
            except UnicodeDecodeError as error:
                decoded.broken.append(BrokenLine(index, describe_undecodable(line, error)))
            except (ValueError, RecursionError) as error:
                decoded.broken.append(BrokenLine(index, _reason(error)))
            else:
                decoded.records.append(record)
                decoded.lines_after.append(index + 1)
        return decoded


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON: {error.msg} at character {error.pos + 1}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
