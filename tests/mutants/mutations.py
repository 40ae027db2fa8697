"""Mutations: the small changes that are made to a module, one at a time, to see whether a test notices.

Only what runs in a job is changed: no annotation, declaration, error text, log line, `__init__` or `__repr__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

_COMPARED: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
}
_COMPUTED: Final[dict[type[ast.operator], str]] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
_REMOVED: Final = (ast.Expr, ast.Assign, ast.AugAssign, ast.Continue, ast.Break, ast.Delete, ast.Raise)
_UNTOUCHED: Final = ("__init__", "__repr__", "__str__")


@final
@dataclass(frozen=True, slots=True)
class Mutation:
    """What stands at a place of a module, and what takes its place. The place is in bytes of UTF-8."""

    line: int
    start: int
    before: str
    after: str

    def applied(self, source: str) -> str:
        """Return the module with the change."""
        data = source.encode()
        end = self.start + len(self.before.encode())
        return (data[: self.start] + self.after.encode() + data[end:]).decode()


def mutations(source: str) -> list[Mutation]:
    """Return all mutations of a module.

    >>> for each in mutations("def f(a):\\n    return a > 1"):
    ...     print(each.line, each.before, "->", each.after)
    2 return a > 1 -> return None
    2 a > 1 -> a >= 1
    2 1 -> 2
    """
    return list(_Module(source).of_body(ast.parse(source).body))


@final
class _Module:
    def __init__(self, source: str) -> None:
        self._data = source.encode()
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def of_body(self, body: list[ast.stmt]) -> Iterator[Mutation]:
        """Yield what is changed in the functions below, not in what is declared beside them."""
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from self.of_body(node.body)
            elif isinstance(node, ast.FunctionDef) and node.name not in _UNTOUCHED:
                for statement in node.body:
                    yield from self._of(statement)

    def _of(self, node: ast.AST) -> Iterator[Mutation]:
        if isinstance(node, ast.Expr) and not _is_work(node.value):
            return
        for place, after in self._changes(node):
            yield self._mutation(place, after)
        if not isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)):
            for child in _children(node):
                yield from self._of(child)

    def _mutation(self, place: ast.expr | ast.stmt, after: str) -> Mutation:
        return Mutation(place.lineno, self._at(place.lineno, place.col_offset), self._text(place), after)

    def _text(self, place: ast.expr | ast.stmt) -> str:
        assert place.end_lineno is not None
        assert place.end_col_offset is not None
        end = self._at(place.end_lineno, place.end_col_offset)
        return self._data[self._at(place.lineno, place.col_offset) : end].decode()

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _operand(self, place: ast.expr) -> str:
        is_one = isinstance(place, (ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript))
        return self._text(place) if is_one else f"({self._text(place)})"

    def _changes(self, node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
        """Yield a node, or a part of it, with what takes its place."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield node, f"{self._operand(left)} {_COMPARED[type(op)]} {self._operand(right)}"
            case ast.BoolOp(op=op, values=values):
                texts = [self._operand(value) for value in values]
                yield node, f"({(' or ' if isinstance(op, ast.And) else ' and ').join(texts)})"
                yield from ((node, text) for text in texts[:2])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, f"bool({self._text(operand)})"
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if _is_plain(test):
                yield test, f"(not {self._operand(test)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED and not _has_text(node):
                yield node, f"({self._operand(left)} {_COMPUTED[type(op)]} {self._operand(right)})"
            case ast.Constant(value=bool() as value):
                yield node, f"{not value}"
            case ast.Constant(value=int() as value):
                yield node, f"{value + 1}"
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield node, "return None"
            case ast.Assign(targets=[ast.Name()] | [ast.Tuple()]):
                pass  # the name would be unknown where it is used
            case (
                ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Continue() | ast.Break() | ast.Delete() | ast.Raise()
            ):
                yield node, "pass"


def _is_work(value: ast.expr) -> bool:
    """Whether a statement does anything but document or log."""
    if not isinstance(value, ast.Call):
        return not isinstance(value, ast.Constant)
    return not ast.unparse(value.func).startswith("_log.")


def _is_plain(test: ast.expr) -> bool:
    """Whether a condition is changed by no other mutation."""
    return isinstance(test, (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr))


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "args") or isinstance(node, ast.Call):
            yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST))


def _has_text(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, (str, bytes)))
        for each in ast.walk(node)
    )
