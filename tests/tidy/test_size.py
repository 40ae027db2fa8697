"""Nothing grows unseen: the code lines of files and functions, and names that say nothing.

A code line is one that is neither empty nor a comment nor part of a docstring: to explain more costs nothing.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.sources import PACKAGE, name, parse, python_files

FILE_LINES_MAX = 450
FUNCTION_LINES_MAX = 70
EMPTY_WORDS = {"manager", "util", "utils", "helper", "helpers", "impl", "abstract"}
# PyFlink's own public names.
ALLOWED = {"JobManagerCheckpointStorage"}


def words(identifier: str) -> set[str]:
    """`fooBar`, `FooBar` and `foo_bar` are made of foo and bar."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", identifier)}


def docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of texts that stand alone: docstrings, also those of attributes."""
    texts = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return {line for text in texts for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)}


def code_lines(source: str, tree: ast.Module) -> set[int]:
    """The numbers of the code lines."""
    written = {
        number
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    return written - docstring_lines(tree)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_file_is_too_long() -> None:
    lines = {name(path): len(code_lines(path.read_text(), parse(path))) for path in python_files()}
    assert {path: length for path, length in lines.items() if length > FILE_LINES_MAX} == {}


def test_no_function_is_too_long() -> None:
    lengths: dict[str, int] = {}
    for path in python_files():
        code = code_lines(path.read_text(), parse(path))
        for function in functions(path):
            own = code & set(range(function.lineno, (function.end_lineno or function.lineno) + 1))
            lengths[f"{name(path)}:{function.lineno} {function.name}"] = len(own)
    assert {where: length for where, length in lengths.items() if length > FUNCTION_LINES_MAX} == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("x = 1\n\n# why\ny = 2  # how\n", {1, 4}),
        ('"""What\nit is."""\nimport os\n', {3}),
        ('def f():\n    """Do."""\n    return """a\n# b"""\n', {1, 3}),
        ('class A:\n    x: int = 0\n    """What x is."""\n', {1, 2}),
    ],
    ids=["comments", "a module's docstring", "a function's docstring, and a text", "an attribute's docstring"],
)
def test_code_lines_are_counted_without_what_explains_them(source: str, lines: set[int]) -> None:
    assert code_lines(source, ast.parse(source)) == lines


def test_names_say_what_a_thing_is() -> None:
    files = [name(path) for path in python_files() if words(path.stem) & EMPTY_WORDS]
    classes = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path in python_files()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef) and node.name not in ALLOWED and words(node.name) & EMPTY_WORDS
    ]
    assert files + classes == []


def test_a_public_class_has_its_name_to_itself() -> None:
    places = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name(path))
    assert {each: paths for each, paths in places.items() if len(paths) > 1} == {}


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
