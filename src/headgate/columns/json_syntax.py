"""The clauses of SQL's functions of JSON, as the options that the registered functions take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headgate.columns import logical_types as types

if TYPE_CHECKING:
    from headgate.columns.flink_sql import FlinkParser

_Words = Mapping[str, str]
_VALUE: Final[_Words] = {"NULL": "NULL", "ERROR": "ERROR"}
_QUERY: Final[_Words] = {**_VALUE, "EMPTY ARRAY": "EMPTY_ARRAY", "EMPTY OBJECT": "EMPTY_OBJECT"}
_EXISTS: Final[_Words] = {"TRUE": "TRUE", "FALSE": "FALSE", "UNKNOWN": "UNKNOWN", "ERROR": "ERROR"}
_WRAPPERS: Final[_Words] = {
    "WITHOUT": "WITHOUT_ARRAY",
    "WITH CONDITIONAL": "CONDITIONAL_ARRAY",
    "WITH UNCONDITIONAL": "UNCONDITIONAL_ARRAY",
    "WITH": "UNCONDITIONAL_ARRAY",
}


def json_value(parser: FlinkParser) -> exp.Anonymous:
    """Parse `value, path [RETURNING type] [{NULL | ERROR | DEFAULT x} ON {EMPTY | ERROR}] ...`."""
    arguments = _operands(parser)
    kind = parser._logical_type() if parser._match_text_seq("RETURNING") else types.STRING
    on = _behaviors(parser, _VALUE, defaults=True)
    return _called(parser, "JSON_VALUE", arguments, (kind, *on["EMPTY"], *on["ERROR"]))


def json_query(parser: FlinkParser) -> exp.Anonymous:
    """Parse `value, path [{WITHOUT | WITH [[UN]CONDITIONAL]} [ARRAY] WRAPPER] [NULL ON {EMPTY | ERROR}] ...`."""
    arguments = _operands(parser)
    wrapper = _one_of(parser, _WRAPPERS)
    if wrapper is not None:
        parser._match_text_seq("ARRAY")
        parser._expect("WRAPPER")
    on = _behaviors(parser, _QUERY)
    return _called(parser, "JSON_QUERY", arguments, (wrapper or "WITHOUT_ARRAY", on["EMPTY"][0], on["ERROR"][0]))


def json_exists(parser: FlinkParser) -> exp.Anonymous:
    """Parse `value, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR]`."""
    arguments = _operands(parser)
    behavior = _one_of(parser, _EXISTS)
    if behavior is not None:
        parser._expect("ON")
        parser._expect("ERROR")
    return _called(parser, "JSON_EXISTS", arguments, (behavior or "FALSE",))


def json_object(parser: FlinkParser) -> exp.Anonymous:
    """Parse `[KEY] key VALUE value, ... [{NULL | ABSENT} ON NULL]`."""
    arguments: list[exp.Expr] = []
    while not parser._match(TokenType.R_PAREN, advance=False) and _on_null(parser, peek=True) is None:
        parser._match_text_seq("KEY")
        arguments.append(_operand(parser))
        parser._expect("VALUE")
        arguments.append(_operand(parser))
        if not parser._match(TokenType.COMMA):
            break
    return _called(parser, "JSON_OBJECT", arguments, [_on_null(parser) or "NULL"])


def json_array(parser: FlinkParser) -> exp.Anonymous:
    """Parse `value, ... [{NULL | ABSENT} ON NULL]`."""
    arguments: list[exp.Expr] = []
    if not parser._match(TokenType.R_PAREN, advance=False) and _on_null(parser, peek=True) is None:
        arguments = _operands(parser)
    return _called(parser, "JSON_ARRAY", arguments, [_on_null(parser) or "ABSENT"])


def _called(parser: FlinkParser, function: str, arguments: Sequence[exp.Expr], options: Sequence[Any]) -> exp.Anonymous:
    made = parser._called(function, list(arguments))
    made.meta["options"] = tuple(options)
    return made


def _operand(parser: FlinkParser) -> exp.Expr:
    return parser._operand(parser._parse_disjunction)


def _operands(parser: FlinkParser) -> list[exp.Expr]:
    return parser._parse_csv(parser._parse_disjunction)


def _on_null(parser: FlinkParser, *, peek: bool = False) -> str | None:
    for word in ("NULL", "ABSENT"):
        if parser._match_text_seq(word, "ON", "NULL", advance=not peek):
            return word
    return None


def _one_of(parser: FlinkParser, words: _Words) -> str | None:
    return next((name for text, name in words.items() if parser._match_text_seq(*text.split())), None)


def _behaviors(parser: FlinkParser, words: _Words, *, defaults: bool = False) -> dict[str, tuple[str, Any]]:
    """Return what to do with an empty result, and with an error; with the default."""
    found: dict[str, tuple[str, Any]] = {}
    while len(found) < 2:
        default = None
        behavior = _one_of(parser, words)
        if behavior is None and defaults and parser._match_text_seq("DEFAULT"):
            behavior, default = "DEFAULT", _operand(parser)
        if behavior is None:
            break
        parser._expect("ON")
        case = "EMPTY" if "EMPTY" not in found and parser._match_text_seq("EMPTY") else "ERROR"
        if case == "ERROR":
            parser._expect("ERROR")
        found[case] = (behavior, default)
    return {"EMPTY": ("NULL", None), "ERROR": ("NULL", None), **found}
