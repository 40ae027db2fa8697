"""Types and expressions from SQL text, as Flink reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar, final

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import TokenType

from headgate.columns.flink_sql import FlinkSql, parser_of_flink
from headgate.columns.logical_types import LogicalType
from headgate.columns.nodes import Call, Cast, Column, Literal, Node, literal
from headgate.columns.sql_functions import call_of
from headgate.columns.sql_literals import interval, number, time_literal
from headgate.errors import HeadgateError, InvalidExpressionError

_DIALECT: Final = FlinkSql()
_WORDS: Final = FlinkSql.Tokenizer.KEYWORDS
_EXCERPT: Final = 100
"""The most characters of a text in an error."""

_BINARY: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "plus",
    exp.Sub: "minus",
    exp.Mul: "times",
    exp.Div: "divide",
    exp.Mod: "modulo",
    exp.EQ: "equals",
    exp.NEQ: "not_equals",
    exp.LT: "less",
    exp.LTE: "less_or_equal",
    exp.GT: "greater",
    exp.GTE: "greater_or_equal",
    exp.SimilarTo: "similar",
}
_INSTEAD: Final[dict[type[exp.Expr], str]] = {
    exp.Window: "OVER is written with over() on an expression",
    exp.Subquery: "a query within an expression is not possible: join the tables",
    exp.Select: "a query within an expression is not possible: join the tables",
    exp.Alias: "AS has no place within an expression: give the name with alias(), or by keyword",
    exp.In: "IN takes values in parentheses: for a query, join the tables",
    exp.SubqueryPredicate: "a query within an expression is not possible: join the tables",
    exp.Kwarg: "arguments have no names here: give them by position",
    exp.Concat: "texts are joined by ||",
    exp.Star: "* is for SELECT: name a column",
    exp.Distinct: "DISTINCT is for aggregates",
    exp.Tuple: "several values in parentheses are for IN only: write ROW(...)",
    exp.ILike: "Flink has no ILIKE: write LOWER(x) LIKE 'text'",
    exp.RegexpLike: "REGEXP is a function in Flink: write REGEXP(text, pattern)",
}
"""What to write instead of syntax that is no expression in Flink."""

_T = TypeVar("_T")


def type_of_text(text: str) -> LogicalType:
    """Return the type that SQL text stands for, such as `DECIMAL(10, 2) NOT NULL` or `ROW<id INT, name STRING>`.

    Raises `InvalidExpressionError`, a ValueError, with the place in the text that is no type.

    >>> print(type_of_text("map<string not null, array<timestamp(3) with local time zone>>"))
    MAP<STRING NOT NULL, ARRAY<TIMESTAMP_LTZ(3)>>
    """
    found = _Text(text).parsed(exp.DataType).meta["logical_type"]
    assert isinstance(found, LogicalType)
    return found


def expression_of_text(text: str) -> Node:
    """Return the expression that SQL text stands for, such as `price * 2 > 10 AND name LIKE 'a%'`.

    Raises `InvalidExpressionError`, a ValueError, with the place in the text that is no expression of Flink.

    >>> from headgate.columns.operand import text_of
    >>> text_of(expression_of_text("`unit price` * 2 > 10 OR UPPER(name) = 'A'"))
    "or(greater(times(unit price, 2), 10), equals(upper_case(name), 'A'))"
    """
    source = _Text(text)
    return source.guarded(lambda: source.node(source.parsed(exp.Condition)))


def watermark_of_text(text: str) -> tuple[str, int]:
    """Return the column and the delay in milliseconds of a watermark, such as `ts - INTERVAL '5' SECOND`.

    Raises `InvalidExpressionError` for any other expression.

    >>> watermark_of_text("ts - INTERVAL '1:30' MINUTE TO SECOND")
    ('ts', 90000)
    """
    source = _Text(text)
    match source.guarded(lambda: source.node(source.parsed(exp.Condition))):
        case Column(name):
            return name, 0
        case Call("minus", (Column(name), Literal(value, kind))) if pa.types.is_duration(kind.arrow):
            delay = value.cast(pa.duration("us")).value
            if delay < 0:
                raise source.refused(0, len(text), "the delay of a watermark is not negative")
            if delay % 1000:
                raise source.refused(0, len(text), "the delay of a watermark is in whole milliseconds")
            return name, delay // 1000
    wanted = "a watermark is a column, or a column minus an interval up to days, such as ts - INTERVAL '5' SECOND"
    raise source.refused(0, len(text), f"{wanted}; compute a column before, with with_column()")


@final
class _Text:
    """A text, and the places in it that errors show."""

    def __init__(self, text: str) -> None:
        self._text = text

    def parsed(self, kind: type[exp.Expr]) -> exp.Expr:
        """Return the only expression, or type, of the text."""
        what = "type" if kind is exp.DataType else "expression"
        try:
            tokens = _DIALECT.tokenize(self._text)
            for token in tokens:
                if token.text == '"' and token.token_type is TokenType.UNKNOWN:
                    raise self.refused(token.start, token.start, "texts have single quotes, and names have backticks")
            found = [own for own in parser_of_flink().parse_into(kind, tokens, self._text) if own is not None]
        except HeadgateError:
            raise
        except ParseError as error:
            first = error.errors[0]
            raise self.refused(first["start"], first["end"], self._explained(first, what)) from None
        except TokenError as error:
            start = error.start or 0
            raise self.refused(start, len(self._text), "a quote or a comment is open at the end") from None
        except RecursionError:
            raise self._too_deep() from None
        except Exception as error:  # noqa: BLE001  # what the parser raises by mistake for text that is no SQL
            raise self.refused(0, len(self._text), f"this is no {what} ({error!r})") from None
        if len(found) != 1:
            raise self.refused(0, len(self._text), f"one {what} is expected")
        return found[0]

    def _explained(self, error: dict[str, Any], what: str) -> str:
        said = str(error["description"])
        if not said.startswith("Invalid expression"):
            return said
        word = self._text[error["start"] : error["end"]]
        if word.upper() == "AS":
            return f"the {what} ends before AS: give it its name with alias(), or by keyword"
        hint = (
            f": write `{word}` if it is the name of a column"
            if word.isidentifier() and word.upper() in _WORDS and what != "type"
            else ""
        )
        return f"the {what} ends before {word}{hint}"

    def guarded(self, make: Callable[[], _T]) -> _T:
        """Return what `make` does. Raises `InvalidExpressionError` if the expression is too deep for Python."""
        try:
            return make()
        except RecursionError:
            raise self._too_deep() from None

    def _too_deep(self) -> InvalidExpressionError:
        return self.refused(0, len(self._text), "this is nested too deeply: split it")

    def refused(self, start: int, end: int, why: str) -> InvalidExpressionError:
        """Return the error that shows a part of the text."""
        lines = self._text[:start].split("\n")
        line, column = len(lines), len(lines[-1])
        own = (self._text.split("\n")[line - 1] if self._text else "").replace("\t", " ")
        cut = max(0, column - _EXCERPT // 2)
        shown = own[cut : cut + _EXCERPT]
        carets = max(1, min(end - start, len(shown) - (column - cut)))
        place = f"line {line}, column {column + 1}" if line > 1 else f"column {column + 1}"
        excerpt = f"  {shown}\n  {' ' * (column - cut)}{'^' * carets}"
        return InvalidExpressionError(f"SQL text, {place}: {why}\n{excerpt}")

    def _refused_at(self, part: exp.Expr, why: str) -> InvalidExpressionError:
        places = [own.meta for own in part.walk() if "start" in own.meta]
        start = min((own["start"] for own in places), default=0)
        end = max((own["end"] + 1 for own in places), default=len(self._text))
        return self.refused(start, end, why)

    def node(self, part: exp.Expr) -> Node:
        """Return the expression tree of a part of the text."""
        try:
            return self._node(part)
        except InvalidExpressionError as error:
            if str(error).startswith("SQL text"):
                raise
            raise self._refused_at(part, str(error)) from None

    def _node(self, part: exp.Expr) -> Node:
        function = _BINARY.get(type(part))
        if function is not None and isinstance(part, exp.Binary):
            return Call(function, (self.node(part.left), self.node(part.right)))
        match part:
            case exp.Paren():
                return self.node(part.this)
            case exp.And() | exp.Or() | exp.DPipe():
                name = "concat_operator" if isinstance(part, exp.DPipe) else part.key
                return Call(name, tuple(self.node(own) for own in part.flatten()))
            case exp.Not():
                return Call("not", (self.node(part.this),))
            case exp.Column() | exp.Dot():
                return self._field(part)
            case exp.Literal():
                return literal(part.name) if part.is_string else number(part.name)
            case exp.Boolean():
                return literal(part.this)
            case exp.Null():
                return literal(None)
            case exp.Neg():
                return self._negative(part)
            case exp.Introducer():
                return time_literal(part.name, part.expression.name)
            case exp.UnicodeString():
                return self._unicode(part)
            case exp.HexString():
                return self._bytes(part)
            case exp.Interval():
                unit = part.args["unit"].name
                return interval(part.this.name, unit)
            case exp.Cast():
                return Cast(self.node(part.this), part.args["to"].meta["logical_type"], isinstance(part, exp.TryCast))
            case exp.Case():
                return self._case(part)
            case exp.Anonymous():
                return self._call(part)
            case exp.Bracket():
                return self._element(part)
        return self._predicate(part)

    def _predicate(self, part: exp.Expr) -> Node:
        match part:
            case exp.Between():
                return self._between(part)
            case exp.In() if part.expressions:
                return Call("in", tuple(map(self.node, (part.this, *part.expressions))))
            case exp.Like():
                return _negated(part, Call("like", (self.node(part.this), self.node(part.expression))))
            case exp.Escape() if isinstance(part.this, (exp.Like, exp.SimilarTo)):
                return self._with_escape(part)
            case exp.Is():
                return _negated(part, self._test(part))
            case exp.Overlaps():
                spans = (part.this, part.expression)
                return Call("temporal_overlaps", tuple(self.node(own) for span in spans for own in span.expressions))
            case exp.NullSafeEQ():
                return self._same(part)
            case exp.NullSafeNEQ():
                return Call("not", (self._same(part),))
        default = f"{part.key.upper()} is no expression of Flink SQL"
        raise self._refused_at(part, next((why for kind, why in _INSTEAD.items() if isinstance(part, kind)), default))

    def _with_escape(self, part: exp.Escape) -> Node:
        found = self.node(part.this)
        escape = part.args.get("expression")
        if escape is None or len(escape.name) != 1:
            raise self._refused_at(part, "ESCAPE takes one character in quotes")
        match found:
            case Call("not", (Call() as inner,)):
                return Call("not", (Call(inner.function, (*inner.arguments, literal(escape.name))),))
            case Call():
                return Call(found.function, (*found.arguments, literal(escape.name)))
        raise AssertionError(found)

    def _field(self, part: exp.Column | exp.Dot) -> Node:
        if isinstance(part, exp.Dot):
            if not isinstance(part.expression, exp.Identifier):
                raise self._refused_at(part, "the name of a field is expected after the point")
            return Call("get", (self.node(part.this), literal(part.expression.name)))
        if not isinstance(part.this, exp.Identifier):
            return self.node(part.this)
        first, *fields = [own.name for own in part.parts]
        found: Node = Column(first)
        for name in fields:
            found = Call("get", (found, literal(name)))
        return found

    def _negative(self, part: exp.Neg) -> Node:
        if isinstance(part.this, exp.Literal) and not part.this.is_string:
            return number(part.this.name, negative=True)
        return Call("negate", (self.node(part.this),))

    def _between(self, part: exp.Between) -> Node:
        value, low, high = (self.node(part.args[own]) for own in ("this", "low", "high"))
        found = Call("between", (value, low, high))
        return Call("or", (found, Call("between", (value, high, low)))) if part.args.get("symmetric") else found

    def _unicode(self, part: exp.UnicodeString) -> Node:
        escape = re.escape(part.args["escape"].name if part.args.get("escape") else "\\")
        form = f"([^{escape}]|{escape}({escape}|[0-9a-fA-F]{{4}}))*"
        if len(escape.removeprefix("\\")) != 1 or re.fullmatch(form, part.name, re.DOTALL) is None:
            raise InvalidExpressionError("a character has four digits after the backslash: write U&'\\00E9'")
        units = re.sub(f"{escape}({escape}|....)", lambda own: _character(own[1]), part.name)
        # Two escapes may be one character.
        return literal(units.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    def _bytes(self, part: exp.HexString) -> Node:
        if self._text[part.meta["start"]] == "0" or not re.fullmatch("([0-9a-fA-F]{2})*", part.name):
            raise InvalidExpressionError("bytes have two digits each, in quotes: write X'00FF'")
        return literal(bytes.fromhex(part.name))

    def _case(self, part: exp.Case) -> Node:
        subject, default = part.this, part.args.get("default")
        found = literal(None) if default is None else self.node(default)
        for branch in reversed(part.args["ifs"]):
            condition = self.node(branch.this)
            if subject is not None:
                condition = Call("equals", (self.node(subject), condition))
            found = Call("if_then_else", (condition, self.node(branch.args["true"]), found))
        return found

    def _call(self, part: exp.Anonymous) -> Node:
        if not isinstance(part.this, str):
            raise self._refused_at(part, f"there is no function {part.name}(): the names of functions have no quotes")
        units = [own.name for own in part.expressions if isinstance(own, exp.Var)]
        given = [self.node(own) for own in part.expressions if not isinstance(own, exp.Var)]
        options = [self._option(own) for own in part.meta.get("options", units)]
        return call_of(part.this, given, *options)

    def _option(self, option: Any) -> Any:
        if not isinstance(option, exp.Expr):
            return option
        default = self.node(option)
        if not isinstance(default, Literal):
            raise self._refused_at(option, "a default is a constant")
        return default.value.as_py()

    def _element(self, part: exp.Bracket) -> Node:
        given = part.expressions
        if isinstance(part.this, exp.Column) and not part.this.this.args.get("quoted"):
            name = part.this.name.upper()
            if name in ("ARRAY", "MAP"):
                return call_of(name, list(map(self.node, given)))
        if len(given) != 1:
            raise self._refused_at(part, "one index is expected in the brackets")
        return Call("at", (self.node(part.this), self.node(given[0])))

    def _test(self, part: exp.Is) -> Node:
        tested, wanted = self.node(part.this), part.expression
        match wanted:
            case exp.Null():
                return Call("is_null", (tested,))
            case exp.Boolean():
                return Call("is_true" if wanted.this else "is_false", (tested,))
            case exp.Column() if wanted.name.upper() == "UNKNOWN":
                return Call("is_null", (tested,))
            case exp.JSON() if wanted.args.get("with_") is None:
                return Call("is_json", (tested, *([literal(wanted.this)] if wanted.this else [])))
        raise self._refused_at(part, "IS takes [NOT] NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM a value")

    def _same(self, part: exp.Binary) -> Node:
        one, other = self.node(part.left), self.node(part.right)
        both = Call("and", (Call("is_null", (one,)), Call("is_null", (other,))))
        return Call("or", (Call("is_true", (Call("equals", (one, other)),)), both))


def _negated(part: exp.Expr, found: Node) -> Node:
    return Call("not", (found,)) if part.args.get("negate") else found


def _character(digits: str) -> str:
    return chr(int(digits, 16)) if len(digits) == 4 else digits
