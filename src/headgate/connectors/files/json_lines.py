"""Decodes JSON lines: each line is a JSON value."""

from __future__ import annotations

from typing import Any, final

from headgate.connectors.files.lines import (
    BrokenLine,
    Decoded,
    LineDecoder,
    describe_undecodable,
    split_lines,
    split_raw_lines,
)
from headgate.types.json_rules import FILES
from headgate.types.json_values import FAILURES, JsonParser, JsonReader, check_characters, has_escaped_surrogates
from headgate.types.typeinfo import TypeInformation, Types


@final
class JsonLinesDecoder(LineDecoder):
    """Decodes a block at once. If this fails, decodes it line by line."""

    def __init__(self, types: TypeInformation | None) -> None:
        self._reading = JsonReader(FILES).of(Types.PICKLED_BYTE_ARRAY() if types is None else types)
        self._parser = JsonParser()

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        try:
            return Decoded(self._decode_at_once(block.decode()))
        except (*FAILURES, StopIteration, RecursionError):
            return self._decode_each(split_raw_lines(block))

    def _decode_at_once(self, text: str) -> list[Any]:
        """Return a record for each line.

        Raises an error for an unusual line, such as a line with blanks around the value.
        """
        if has_escaped_surrogates(text):
            raise ValueError("there may be half a character")
        lines, scan = split_lines(text), self._parser.scan
        scanned = [scan(line, 0) for line in lines]
        if [end for _, end in scanned] != list(map(len, lines)):
            raise ValueError("there is something after a value")
        values = [value for value, _ in scanned]
        if None in values:
            raise ValueError("null is not a record")
        return self._reading.column(values)

    def _decode_each(self, lines: list[bytes]) -> Decoded:
        decoded = Decoded([], [])
        assert decoded.lines_after is not None
        for index, line in enumerate(lines):
            if line.isspace() or not line:
                continue
            try:
                record = self._record(line.decode())
            except UnicodeDecodeError as error:
                decoded.broken.append(BrokenLine(index, describe_undecodable(line, error)))
            except FAILURES as error:
                decoded.broken.append(BrokenLine(index, str(error)))
            else:
                decoded.records.append(record)
                decoded.lines_after.append(index + 1)
        return decoded

    def _record(self, line: str) -> Any:
        value = self._parser.parse(line)
        if value is None:
            raise ValueError("null is not a record")
        if has_escaped_surrogates(line):
            check_characters(value)
        return self._reading.one(value)
