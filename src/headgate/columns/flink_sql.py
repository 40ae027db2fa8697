"""Flink's SQL as a dialect of sqlglot, whose parser has the grammar. What differs in Flink is said here.

Every function is parsed to `exp.Anonymous` with the name and the arguments of the text, also those with a syntax of
their own: `EXTRACT(DAY FROM x)` has the arguments `DAY`, as an `exp.Var`, and `x`. A literal with a type before it,
such as `DATE '2024-02-29'`, is an `exp.Introducer`. A type is an `exp.DataType`, which has the `LogicalType` in `meta`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final, NoReturn, TypeVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from headgate.columns import json_syntax
from headgate.columns import logical_types as types
from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.schema import nearest
from headgate.errors import EnvironmentFault

UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
"""The units of intervals, longest first."""
_SPANS: Final = {"YEAR": ("MONTH",), "DAY": UNITS[5:], "HOUR": UNITS[6:], "MINUTE": UNITS[7:]}
MONTH_UNITS: Final = UNITS[:3]
TIME_UNITS: Final = frozenset(
    {*UNITS, "MILLENNIUM", "CENTURY", "DECADE", "ISODOW", "ISOYEAR", "DOW", "DOY"}
    | {"EPOCH", "MILLISECOND", "MICROSECOND", "NANOSECOND"}
)
"""The units that functions take as an argument."""

_PLAIN: Final = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.TINYINT,
    "SMALLINT": types.SMALLINT,
    "INT": types.INT,
    "INTEGER": types.INT,
    "BIGINT": types.BIGINT,
    "FLOAT": types.FLOAT,
    "DOUBLE": types.DOUBLE,
    "DOUBLE PRECISION": types.DOUBLE,
    "STRING": types.STRING,
    "BYTES": types.BINARY_STRING,
    "DATE": types.DATE,
    "NULL": types.NULL,
}
_WITH_LENGTH: Final[dict[str, tuple[Callable[[int], LogicalType], int]]] = {
    "CHAR": (partial(types.text, fixed=True), 1),
    "VARCHAR": (types.text, types.MAX_LENGTH),
    "CHAR VARYING": (types.text, types.MAX_LENGTH),
    "BINARY": (partial(types.binary, fixed=True), 1),
    "VARBINARY": (types.binary, types.MAX_LENGTH),
    "TIME": (types.time, 0),
    "TIMESTAMP": (types.timestamp, 6),
    "TIMESTAMP_LTZ": (types.timestamp_ltz, 6),
}
"""Types with a number in parentheses, and the number without one. Planners take VARCHAR without a length as STRING."""
_DECIMALS: Final = ("DECIMAL", "DEC", "NUMERIC")
_TYPES: Final = (*_PLAIN, *_WITH_LENGTH, *_DECIMALS, "INTERVAL", "ARRAY", "MAP", "ROW")

_T = TypeVar("_T")


def _named(name: str) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[])


class FlinkParser(parser.Parser):
    """The grammar of Flink. Where sqlglot's leaves out what is missing, this one is strict."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {
        kind: partial(_named, kind.name)
        for kind in (
            TokenType.CURRENT_DATE,
            TokenType.CURRENT_TIME,
            TokenType.CURRENT_TIMESTAMP,
            TokenType.LOCALTIME,
            TokenType.LOCALTIMESTAMP,
        )
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {"CASE": lambda self: self._parse_case()}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CAST": lambda self: self._parse_cast(strict=True),
        "TRY_CAST": lambda self: self._parse_cast(strict=False),
        "EXTRACT": lambda self: self._parse_unit_first("EXTRACT", TokenType.FROM),
        "TIMESTAMPADD": lambda self: self._parse_unit_first("TIMESTAMPADD", TokenType.COMMA),
        "TIMESTAMPDIFF": lambda self: self._parse_unit_first("TIMESTAMPDIFF", TokenType.COMMA),
        "FLOOR": lambda self: self._parse_to_unit("FLOOR"),
        "CEIL": lambda self: self._parse_to_unit("CEIL"),
        "CEILING": lambda self: self._parse_to_unit("CEIL"),
        "SUBSTRING": lambda self: self._parse_separated("SUBSTRING", "FROM", "FOR"),
        "OVERLAY": lambda self: self._parse_separated("OVERLAY", "PLACING", "FROM", "FOR"),
        "POSITION": lambda self: self._parse_separated("POSITION", "IN", "FROM"),
        "TRIM": lambda self: self._parse_trim_words(),
        "JSON_ARRAY": json_syntax.json_array,
        "JSON_EXISTS": json_syntax.json_exists,
        "JSON_OBJECT": json_syntax.json_object,
        "JSON_QUERY": json_syntax.json_query,
        "JSON_VALUE": json_syntax.json_value,
    }
    EXPRESSION_PARSERS: ClassVar[dict[type[exp.Expr], Callable[..., Any]]] = {
        **parser.Parser.EXPRESSION_PARSERS,
        exp.DataType: lambda self: self._parse_logical_type(),
    }
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    # `||` binds as `*` does, and IS weaker than comparisons.
    FACTOR: ClassVar[dict[TokenType, Any]] = {
        TokenType.MOD: exp.Mod,
        TokenType.SLASH: exp.Div,
        TokenType.STAR: exp.Mul,
        TokenType.DPIPE: exp.DPipe,
    }
    IS_PREDICATE_PRECEDENCE = parser.IsPredicatePrecedence.LOW
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {TokenType.DOT: None}
    INTERVAL_SPANS = False

    def raise_error(self, message: str, token: Token = parser.SENTINEL_NONE) -> None:
        """Raise `ParseError`, whose first error has the place in the text: its first character, and the one after."""
        at = token or self._curr
        start, end = (at.start, at.end + 1) if at else (len(self.sql), len(self.sql))
        shown = "an expression is expected here" if message.startswith("Required keyword") else message
        raise ParseError(shown, [{"description": shown, "start": start, "end": end}])

    def _refuse(self, message: str, token: Token | None = None) -> NoReturn:
        self.raise_error(message, self._curr if token is None else token)
        raise AssertionError("raise_error() raises")

    def _word(self) -> str:
        """Return the next token in capitals if it is a word that is not quoted, else an empty text."""
        quoted = self._curr.token_type in self.TEXT_MATCH_EXCLUDED_TOKENS
        return "" if quoted or not self._curr else str(self._curr.text).upper()

    def _expect(self, word: str) -> None:
        if not self._match_text_seq(word):
            self._refuse(f"{word} is expected here")

    def _operand(self, method: Callable[[], _T | None]) -> _T:
        found = method()
        if found is None:
            self._refuse("an expression is expected here")
        return found

    def _at_end(self) -> None:
        if not self._match(TokenType.R_PAREN, advance=False):
            self._refuse(") is expected here")

    def _parse_csv(self, parse_method: Callable[[], _T | None], sep: TokenType = TokenType.COMMA) -> list[_T]:
        first = parse_method()
        found = [] if first is None else [first]
        while self._match(sep):
            if not found:
                self._refuse("an expression is expected before the comma", self._prev)
            found.append(self._operand(parse_method))
        return found

    def _parse_case(self) -> exp.Expr | None:
        subject = None if self._match(TokenType.WHEN, advance=False) else self._operand(self._parse_disjunction)
        branches = []
        while self._match(TokenType.WHEN):
            condition = self._operand(self._parse_disjunction)
            self._expect("THEN")
            branches.append(exp.If(this=condition, true=self._operand(self._parse_disjunction)))
        if not branches:
            self._refuse("WHEN is expected here")
        default = self._operand(self._parse_disjunction) if self._match(TokenType.ELSE) else None
        self._expect("END")
        return self.expression(exp.Case(this=subject, ifs=branches, default=default))

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        symmetric = self._match_text_seq("SYMMETRIC")
        if not symmetric:
            self._match_text_seq("ASYMMETRIC")
        low = self._operand(self._parse_bitwise)
        self._expect("AND")
        high = self._operand(self._parse_bitwise)
        return self.expression(exp.Between(this=this, low=low, high=high, symmetric=symmetric))

    def _parse_primary(self) -> exp.Expr | None:
        if self._match_pair(TokenType.DOT, TokenType.NUMBER, advance=False):
            point = self._curr
            self._advance(2)
            return self.expression(exp.Literal(this=f".{self._prev.text}", is_string=False), point)
        return super()._parse_primary()

    def _parse_cast(self, strict: bool, safe: bool | None = None) -> exp.Expr:
        value = self._operand(self._parse_disjunction)
        self._expect("AS")
        kind = exp.Cast if strict else exp.TryCast
        made = self.expression(kind(this=value, to=self._parse_logical_type()))
        self._at_end()
        return made

    def _unit(self) -> exp.Var:
        """Return a unit of time. SQL_TSI_DAY is another name of DAY."""
        unit = self._word().removeprefix("SQL_TSI_")
        if unit not in TIME_UNITS:
            self._refuse(f"a unit of time is expected here{nearest(unit, sorted(TIME_UNITS))}")
        self._advance()
        return self.expression(exp.Var(this=unit), self._prev)

    def _parse_unit_first(self, function: str, separator: TokenType) -> exp.Anonymous:
        unit = self._unit()
        if not self._match(separator):
            self._refuse(f"{'FROM' if separator is TokenType.FROM else 'a comma'} is expected here")
        arguments = [self._operand(self._parse_disjunction)]
        while self._match(TokenType.COMMA):
            arguments.append(self._operand(self._parse_disjunction))
        return self._called(function, [unit, *arguments])

    def _parse_to_unit(self, function: str) -> exp.Anonymous:
        arguments: list[exp.Expr] = list(self._parse_csv(self._parse_disjunction))
        if self._match_text_seq("TO"):
            arguments.append(self._unit())
        return self._called(function, arguments)

    def _parse_separated(self, function: str, *words: str) -> exp.Anonymous:
        """Parse arguments that words separate, or commas."""
        # IN separates here, and is no operator.
        arguments: list[exp.Expr] = [self._operand(self._parse_bitwise)]
        while self._match(TokenType.COMMA) or any(self._match_text_seq(word) for word in words):
            arguments.append(self._operand(self._parse_bitwise))
        return self._called(function, arguments)

    def _parse_trim_words(self) -> exp.Anonymous:
        """Parse `[BOTH | LEADING | TRAILING] [characters] FROM x`, or `x`."""
        side = self._word() if self._match_texts(self.TRIM_TYPES, advance=False) else ""
        if side:
            self._advance()
        characters: exp.Expr | None = None if self._match(TokenType.FROM, advance=False) else self._parse_bitwise()
        if self._match(TokenType.FROM):
            characters = characters or exp.Literal.string(" ")
            arguments = [exp.Var(this=side or "BOTH"), characters, self._operand(self._parse_bitwise)]
            return self._called("TRIM", arguments)
        if side:
            self._refuse("FROM is expected here")
        return self._called("TRIM", [] if characters is None else [characters])

    def _called(self, function: str, arguments: list[exp.Expr]) -> exp.Anonymous:
        self._at_end()
        return self.expression(exp.Anonymous(this=function, expressions=arguments))

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr | None:
        if not fallback_to_identifier and (atom := self._parse_atom()) is not None:
            return atom
        literal = self._parse_interval() if parse_interval else None
        return literal or self._parse_time_literal() or self._parse_column()

    def _parse_time_literal(self) -> exp.Expr | None:
        kind = self._word()
        if kind not in ("DATE", "TIME", "TIMESTAMP") or self._next.token_type is not TokenType.STRING:
            return None
        first = self._curr
        self._advance(2)
        text = exp.Literal.string(self._prev.text).update_positions(self._prev)
        return self.expression(exp.Introducer(this=kind, expression=text), first)

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Add | exp.Interval | None:
        """Parse `INTERVAL [-]'1-2' YEAR TO MONTH`. The unit of the result is an `exp.Var` of all its words."""
        ahead = self._tokens[self._index + 1 : self._index + 3]
        signed = bool(ahead) and ahead[0].token_type in (TokenType.DASH, TokenType.PLUS)
        value = ahead[-1] if signed else next(iter(ahead), None)
        if self._word() != "INTERVAL" or value is None or value.token_type not in self._quoted(signed):
            return None
        first = self._curr
        self._advance(3 if signed else 2)
        sign = "-" if signed and ahead[0].token_type is TokenType.DASH else ""
        text = exp.Literal.string(sign + value.text).update_positions(value)
        unit, _ = self._interval_unit()
        return self.expression(exp.Interval(this=text, unit=exp.Var(this=unit)), first)

    @staticmethod
    def _quoted(signed: bool) -> tuple[TokenType, ...]:
        # A column may have the name `interval`: a number may be subtracted from it.
        return (TokenType.STRING,) if signed else (TokenType.STRING, TokenType.NUMBER)

    def _interval_unit(self) -> tuple[str, int | None]:
        """Parse `DAY(2) TO SECOND(3)`. Return the units, and the number of digits after the second if it is there."""
        start = self._word()
        first = start.removesuffix("S")
        if first not in UNITS:
            self._refuse(f"a unit of an interval is expected here{nearest(start, UNITS)}")
        self._advance()
        numbers = self._numbers(2)
        digits = numbers[1] if first == "SECOND" and len(numbers) == 2 else None
        if not self._match_text_seq("TO"):
            return first, digits
        last = self._word()
        if last not in _SPANS.get(first, ()):
            among = " or ".join(_SPANS.get(first, ())) or "no other unit"
            self._refuse(f"an interval goes from {first} to {among}")
        self._advance()
        if last == "SECOND":
            digits = next(iter(self._numbers(1)), None)
        return f"{first} TO {last}", digits

    def _numbers(self, most: int) -> list[int]:
        """Parse whole numbers in parentheses; none if there are no parentheses."""
        if not self._match(TokenType.L_PAREN):
            return []
        found: list[int] = []
        while not found or self._match(TokenType.COMMA):
            if self._curr.token_type is not TokenType.NUMBER or not self._curr.text.isdecimal() or len(found) == most:
                self._refuse("a whole number is expected here" if len(found) < most else ") is expected here")
            found.append(int(self._curr.text[:12]))
            self._advance()
        self._at_end()
        self._advance()
        return found

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        """Parse a type where one may be left out."""
        return self._parse_logical_type() if self._word() in _TYPES else None

    def _parse_logical_type(self) -> exp.DataType:
        first = self._curr
        own = self._logical_type()
        made = exp.DataType(this=exp.DType.USERDEFINED, kind=str(own)).update_positions(first)
        made.meta["logical_type"] = own
        return made

    def _logical_type(self) -> LogicalType:
        first = self._curr
        try:
            found = self._type_with_nulls(self._type_of_word())
            while self._match_text_seq("ARRAY"):
                found = self._type_with_nulls(types.array(found))
        except ValueError as error:  # a precision or a length
            self._refuse(str(error), first)
        return found

    def _type_with_nulls(self, own: LogicalType) -> LogicalType:
        if not self._match(TokenType.NOT):
            self._match_text_seq("NULL")
            return own
        self._expect("NULL")
        if own.kind is Kind.NULL:
            self._refuse("the type NULL has only NULL: remove NOT NULL", self._prev)
        return own.nulls(nullable=False)

    def _type_of_word(self) -> LogicalType:
        name = self._word()
        if name.startswith("CHARACTER"):
            name = name.replace("CHARACTER", "CHAR")
        if name not in _TYPES:
            known = f"there is no type {name}{nearest(name, _TYPES)}"
            self._refuse(known if name.isidentifier() else "a type is expected here")
        self._advance()
        if name in _PLAIN:
            return _PLAIN[name]
        if name in _DECIMALS:
            digits = self._numbers(2)
            return types.decimal(digits[0] if digits else 10, digits[1] if len(digits) == 2 else 0)
        if name in _WITH_LENGTH:
            make, length = _WITH_LENGTH[name]
            return self._with_zone(make(next(iter(self._numbers(1)), length)))
        if name == "INTERVAL":
            unit, digits_after = self._interval_unit()
            if unit.startswith(MONTH_UNITS):
                return types.MONTH_INTERVAL
            return types.day_interval() if digits_after is None else types.day_interval(digits_after)
        return self._nested(name)

    def _with_zone(self, own: LogicalType) -> LogicalType:
        if own.kind not in (Kind.TIME, Kind.TIMESTAMP) or self._match_text_seq("WITHOUT", "TIME", "ZONE"):
            return own
        if own.kind is Kind.TIMESTAMP and self._match_text_seq("WITH", "LOCAL", "TIME", "ZONE"):
            return types.timestamp_ltz(own.precision)
        if self._match_text_seq("WITH"):
            self._refuse("there is no time with a zone of its own: use TIMESTAMP_LTZ", self._prev)
        return own

    def _nested(self, name: str) -> LogicalType:
        opening, closing = TokenType.LT, TokenType.GT
        if name == "ROW" and self._match(TokenType.L_PAREN, advance=False):
            opening, closing = TokenType.L_PAREN, TokenType.R_PAREN
        if not self._match(opening):
            self._refuse("< is expected here")
        if name == "ROW":
            found = types.row(self._parse_csv(self._field))
        elif name == "MAP":
            key = self._logical_type()
            if not self._match(TokenType.COMMA):
                self._refuse("a comma is expected here")
            found = types.map_of(key, self._logical_type())
        else:
            found = types.array(self._logical_type())
        if not self._match(closing):
            self._refuse(f"{'>' if closing is TokenType.GT else ')'} is expected here")
        return found

    def _field(self) -> tuple[str, LogicalType]:
        quoted = self._curr.token_type is TokenType.IDENTIFIER
        if not quoted and not self._word().isidentifier():
            self._refuse("the name of a field is expected here")
        name = str(self._curr.text)
        self._advance()
        kind = self._logical_type()
        self._match(TokenType.STRING)  # a comment on the field
        return name, kind


class FlinkSql(Dialect):
    """The dialect: names are kept as they are written, and quoted by backticks; texts by single quotes."""

    DPIPE_IS_STRING_CONCAT = False  # by the parser's FACTOR

    class Tokenizer(tokens.Tokenizer):
        """The words of Flink."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]
        IDENTIFIER_ESCAPES: ClassVar[list[str]] = ["`"]
        HEX_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("x'", "'"), ("X'", "'")]
        UNICODE_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("u&'", "'"), ("U&'", "'")]
        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind for word, kind in tokens.Tokenizer.KEYWORDS.items() if word not in ("==", "??", "/*+")
        }

    Parser = FlinkParser


def parser_of_flink() -> FlinkParser:
    """Return a parser for one text. Raises `EnvironmentFault` if sqlglot is compiled, which takes no new dialects."""
    try:
        return FlinkParser(dialect=FlinkSql)
    except TypeError as error:
        raise EnvironmentFault(
            f"SQL text needs sqlglot without its compiled part: pip uninstall sqlglotc, in the driver ({error})"
        ) from None
