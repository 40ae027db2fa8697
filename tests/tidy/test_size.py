"""Nothing grows without anybody noticing: the length of files and functions, and names that say nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.sources import name, parse, python_files

FILE_LINES_MAX = 450
FUNCTION_LINES_MAX = 70
EMPTY_WORDS = {"manager", "util", "utils", "helper", "helpers", "impl", "abstract"}
# PyFlink's own public names.
ALLOWED = {"JobManagerCheckpointStorage"}


def words(identifier: str) -> set[str]:
    """`fooBar`, `FooBar` and `foo_bar` are made of foo and bar."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", identifier)}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_file_is_too_long() -> None:
    lines = {name(path): len(path.read_text().splitlines()) for path in python_files()}
    assert {path: length for path, length in lines.items() if length > FILE_LINES_MAX} == {}


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{name(path)}:{function.lineno} {function.name}": (function.end_lineno or 0) - function.lineno + 1
        for path in python_files()
        for function in functions(path)
    }
    assert {where: length for where, length in lengths.items() if length > FUNCTION_LINES_MAX} == {}


def test_names_say_what_a_thing_is() -> None:
    files = [name(path) for path in python_files() if words(path.stem) & EMPTY_WORDS]
    classes = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path in python_files()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef) and node.name not in ALLOWED and words(node.name) & EMPTY_WORDS
    ]
    assert files + classes == []


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("StateManager", {"state", "manager"}),
        ("test_helpers", {"test", "helpers"}),
        ("RESTUtil", {"rest", "util"}),
        ("Implicit", {"implicit"}),
    ],
)
def test_names_are_taken_apart_into_words(identifier: str, parts: set[str]) -> None:
    assert words(identifier) == parts
