"""Regular expressions of Java, as Flink has them, in the syntax of RE2, which Arrow has, and of Python.

Both engines get sets of code points instead of classes, so that `.`, `\\d` or `(?i)` mean what they mean in Java.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import character_sets as sets
from headgate.columns.character_sets import Ranges
from headgate.errors import InvalidExpressionError


class _Piece(NamedTuple):
    """A part of a pattern for Python and for RE2, which has no lookaround, for instance: None."""

    python: str
    re2: str | None
    group: int = 0
    """The group that the piece begins, from 1."""
    is_assertion: bool = False


@final
@dataclass(frozen=True, slots=True)
class JavaPattern:
    """A regular expression. `python` always has it; Arrow can have it only if `re2` is not None."""

    python: re.Pattern[str]
    re2: str | None
    """All groups are without number."""
    pieces: tuple[_Piece, ...]
    ends_line: bool
    """RE2 does not know that a pattern's `$` matches before the line end at the end of the text."""
    may_be_empty: bool
    """Whether a match may be empty: engines count these differently."""
    unsure_groups: frozenset[int]
    """Groups that may be no part of a match, which Arrow does not tell from empty ones, or a repeated part."""

    @property
    def has_assertions(self) -> bool:
        """Whether a match depends on what is beside it."""
        return any(piece.is_assertion for piece in self.pieces)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Iterate over the matches: as in Java, none begins where an empty one has been."""
        at = 0
        while at <= len(text) and (found := self.python.search(text, at)):
            yield found
            at = found.end() + (found.end() == found.start())

    def replaced(self, text: str, replacement: str) -> str:
        """Return the text with a replacement for each match."""
        parts, at = [], 0
        for found in self.matches(text):
            parts += [text[at : found.start()], replacement]
            at = found.end()
        return "".join([*parts, text[at:]])

    def capture(self, group: int) -> str:
        """Return the pattern for RE2 with the one group `found`."""
        parts = [("(?P<found>" if group and own.group == group else own.re2) or "" for own in self.pieces]
        return "".join(parts) if group else f"(?P<found>{''.join(parts)})"


@lru_cache(maxsize=1000)
def java_pattern(source: str) -> JavaPattern:
    """Return the pattern. Raises `InvalidExpressionError` if it is none, or has what neither engine has."""
    made = _Translation(source)
    made.translate()
    pieces = tuple(made.pieces)
    try:
        python = re.compile("".join(own.python for own in pieces), re.ASCII)
    except re.error as error:
        raise InvalidExpressionError(f"the pattern {source!r} is not supported: {error}") from None
    re2 = "".join(own.re2 or "" for own in pieces)
    try:
        pc.match_substring_regex(pa.array([""]), pattern=re2)
        is_fast = all(own.re2 is not None for own in pieces)
        bare = "".join("" if own.is_assertion else own.python for own in pieces)
        may_be_empty = not is_fast or re.match(bare, "") is not None
    except (pa.ArrowInvalid, re.error):
        is_fast, may_be_empty = False, True
    return JavaPattern(
        python, re2 if is_fast else None, pieces, made.ends_line, may_be_empty, frozenset(made.unsure_groups)
    )


_CLASSES: Final[dict[str, Ranges]] = {
    "d": sets.DIGIT,
    "w": sets.WORD,
    "s": sets.SPACE,
    "h": sets.HORIZONTAL,
    "v": sets.VERTICAL,
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_LINE_END: Final = r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])"
_BEFORE_LAST_LINE_END: Final = r"(?:(?<!\r)(?=\n\Z)|(?=\r\n?\Z|[\x85\u2028\u2029]\Z|\Z))"
_LINE_START: Final = r"(?:(?:\A|(?<=[\n\x85\u2028\u2029]))(?!\Z)|(?<=\r)(?!\n|\Z))"
_LINE_STOP: Final = r"(?:(?<!\r)(?=\n)|(?=[\r\x85\u2028\u2029]|\Z))"
_QUANTIFIER: Final = re.compile(r"([*+?]|\{\d+(?:,\d*)?\})([?+]?)")
_GROUP_START: Final = re.compile(r"\?(?:(:|=|!|<=|<!|>)|<([A-Za-z][A-Za-z0-9]*)>|([idmsuxU]*)(?:-([idmsuxU]+))?([:)]))")


@dataclass(slots=True)
class _Open:
    """An open group: the flags outside of it, the count of groups before it, its number, or 0, if it has none."""

    flags: frozenset[str]
    groups: int
    number: int = 0
    has_alternatives: bool = False


@final
@dataclass(slots=True)
class _Translation:
    source: str
    at: int = 0
    pieces: list[_Piece] = field(default_factory=list)
    ends_line: bool = False
    unsure_groups: set[int] = field(default_factory=set)
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    stack: list[_Open] = field(default_factory=list)

    def fail(self, reason: str) -> NoReturn:
        raise InvalidExpressionError(f"the pattern {self.source!r} is no regular expression: {reason} at {self.at}")

    def peek(self) -> str:
        return self.source[self.at : self.at + 1]

    def next(self) -> str:
        own = self.peek()
        if not own:
            self.fail("it ends too early")
        self.at += 1
        return own

    def add(self, python: str, re2: str | None, *, assertion: bool = False) -> None:
        self.pieces.append(_Piece(python, re2, 0, assertion))

    def translate(self) -> None:
        whole = _Open(self.flags, 0)
        self.stack.append(whole)
        while self.at < len(self.source):
            self.part(self.next())
        if len(self.stack) > 1:
            self.fail("a group is not closed")
        if whole.has_alternatives:
            self.unsure_groups.update(range(1, self.groups + 1))

    def part(self, own: str) -> None:
        match own:
            case "(":
                self.open()
            case ")":
                self.close()
            case "|":
                self.stack[-1].has_alternatives = True
                self.add("|", "|")
            case "[":
                self.set(self.bracket())
            case ".":
                without = sets.characters("\n") if "d" in self.flags else sets.LINE_ENDS
                self.set(sets.ANY if "s" in self.flags else sets.complement(without))
            case "^":
                self.add(
                    _LINE_START if "m" in self.flags else r"\A", None if "m" in self.flags else r"\A", assertion=True
                )
            case "$":
                self.end()
            case "\\":
                self.escape()
            case "*" | "+" | "?" | "{":
                self.at -= 1
                self.fail("there is nothing to repeat")
            case "#" if "x" in self.flags:
                while self.at < len(self.source) and self.next() != "\n":
                    pass
            case _ if own.isspace() and "x" in self.flags:
                pass
            case _:
                self.set(sets.characters(own))

    def set(self, ranges: Ranges) -> None:
        if "i" in self.flags:
            if "u" in self.flags:
                self.fail("(?u) with (?i) is not supported,")
            ranges = sets.ignoring_case(ranges)
        self.add(_written(ranges, "\\U{:08x}"), _written(ranges, "\\x{{{:x}}}"))
        self.quantifier()

    def quantifier(self, groups: range = range(0)) -> None:
        found = _QUANTIFIER.match(self.source, self.at)
        if found is None:
            return
        self.at = found.end()
        self.add(found.group(), None if found.group(2) == "+" else found.group())
        self.unsure_groups.update(groups)

    def end(self) -> None:
        if "m" in self.flags:
            self.add(_LINE_STOP, None, assertion=True)
        else:
            self.ends_line = True
            self.add(_BEFORE_LAST_LINE_END, r"\z", assertion=True)

    def open(self) -> None:
        opened = _Open(self.flags, self.groups)
        found = _GROUP_START.match(self.source, self.at)
        if self.peek() == "?" and found is None:
            self.fail("there is an unknown kind of group")
        if found is None:
            self.capture(opened)
        else:
            self.at = found.end()
            kind, name, flags, removed, then = found.groups()
            if name:
                self.capture(opened)
                self.names[name] = self.groups
            elif kind:
                self.add(f"(?{kind}", "(?:" if kind == ":" else None)
            else:
                self.flags = (self.flags | set(flags)) - set(removed or "")
                if "U" in self.flags:
                    self.fail("the flag U is not supported,")
                if then == ")":
                    return
                self.add("(?:", "(?:")
        self.stack.append(opened)

    def capture(self, opened: _Open) -> None:
        self.groups += 1
        opened.number = self.groups
        self.pieces.append(_Piece("(", "(?:", self.groups))

    def close(self) -> None:
        if len(self.stack) == 1:
            self.fail("there is no group to close")
        closed = self.stack.pop()
        self.flags = closed.flags
        self.add(")", ")")
        inside = range(closed.groups + 1, self.groups + 1)
        if closed.has_alternatives:
            self.unsure_groups.update(group for group in inside if group != closed.number)
        self.quantifier(inside)

    def escape(self) -> None:
        own = self.next()
        match own:
            case "b":
                self.add(r"\b", r"\b", assertion=True)
            case "B":
                self.add(r"(?!\b)", r"\B", assertion=True)  # Python's is not in an empty text
            case "A":
                self.add(r"\A", r"\A", assertion=True)
            case "z":
                self.add(r"\Z", r"\z", assertion=True)
            case "Z":
                self.ends_line = True
                self.add(_BEFORE_LAST_LINE_END, r"\z", assertion=True)
            case "R":
                self.add(_LINE_END, _LINE_END.replace(r"\u2028\u2029", r"\x{2028}\x{2029}").replace(r"\x85", r"\x{85}"))
                self.quantifier()
            case "Q":
                stop = self.source.find("\\E", self.at)
                quoted = self.source[self.at : stop if stop >= 0 else None]
                self.at = stop + 2 if stop >= 0 else len(self.source)
                for character in quoted:
                    self.set(sets.characters(character))
            case "k":
                self.reference(self.names.get(self.braced("<", ">"), 0))
            case _ if own in "123456789":
                number = int(own)
                while self.peek().isdecimal() and number * 10 + int(self.peek()) <= self.groups:
                    number = number * 10 + int(self.next())
                self.reference(number)
            case _:
                self.set(self.escaped(own))

    def reference(self, group: int) -> None:
        if not 1 <= group <= self.groups:
            self.fail("there is no such group")
        self.add(f"(?:\\{group})", None)
        self.quantifier()

    def braced(self, start: str, stop: str) -> str:
        end = self.source.find(stop, self.at)
        if self.peek() != start or end < 0:
            self.fail(f"there is no {start}...{stop}")
        found = self.source[self.at + 1 : end]
        self.at = end + 1
        return found

    def escaped(self, own: str) -> Ranges:
        """Return the set that an escaped character stands for, in a class or outside of one."""
        if own.lower() in _CLASSES:
            ranges = _CLASSES[own.lower()]
            return ranges if own.islower() else sets.complement(ranges)
        match own:
            case "p" | "P":
                name = self.braced("{", "}") if self.peek() == "{" else self.next()
                found = sets.with_property(name)
                if found is None:
                    self.fail(f"the property {name!r} is not supported,")
                return found if own == "p" else sets.complement(found)
            case "0":
                return self.code(r"[0-3]?[0-7]{1,2}", 8)
            case "x" if self.peek() == "{":
                return _one(int(self.braced("{", "}"), 16))
            case "x":
                return self.code("[0-9a-fA-F]{2}", 16)
            case "u":
                return self.code("[0-9a-fA-F]{4}", 16)
            case "c":
                return _one(ord(self.next()) ^ 64)
        if own in _CONTROLS:
            return sets.characters(_CONTROLS[own])
        if own.isascii() and own.isalpha():
            self.fail(f"the escape \\{own} is not known,")
        return sets.characters(own)

    def code(self, digits: str, base: int) -> Ranges:
        found = re.compile(digits).match(self.source, self.at)
        if found is None:
            self.fail("there are no digits of a code")
        self.at = found.end()
        return _one(int(found.group(), base))

    def bracket(self) -> Ranges:
        """Return the set of a class, after its `[`."""
        negated = self.peek() == "^"
        self.at += negated
        found: Ranges = ()
        both: Ranges | None = None
        is_first = True
        while (own := self.next()) != "]" or is_first:
            is_first = False
            if own == "[":
                found = sets.union(found, self.bracket())
            elif own == "&" and self.peek() == "&":
                self.at += 1
                both, found = found if both is None else sets.intersection(both, found), ()
            elif not (own.isspace() and "x" in self.flags):
                found = sets.union(found, self.range_from(own))
        if both is not None:
            found = sets.intersection(both, found)
        return sets.complement(found) if negated else found

    def range_from(self, own: str) -> Ranges:
        first = self.escaped(self.next()) if own == "\\" else sets.characters(own)
        rest = self.source[self.at : self.at + 2]
        if len(first) > 1 or not rest.startswith("-") or rest in ("-]", "-[", "-"):
            return first
        self.at += 1
        own = self.next()
        last = self.escaped(self.next()) if own == "\\" else sets.characters(own)
        if first[0][0] != first[0][1] or len(last) > 1 or last[0][0] < first[0][0]:
            self.fail("there is a wrong range")
        return ((first[0][0], last[0][0]),)


def _one(code: int) -> Ranges:
    return ((code, code),)


def _written(ranges: Ranges, code: str) -> str:
    """Return a set as both engines write it, but for the code of a character."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        own = chr(ranges[0][0])
        return own if own.isalnum() and own.isascii() else code.format(ranges[0][0])
    parts = [code.format(a) if a == b else f"{code.format(a)}-{code.format(b)}" for a, b in ranges]
    return f"[{''.join(parts)}]" if parts else f"[^{code.format(0)}-{code.format(sets.LAST)}]"
