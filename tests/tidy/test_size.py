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
"""Of code in any file, and of all lines in a module of the package."""
FUNCTION_LINES_MAX = 70
SMALL_FILE_LINES = 60
SMALL_FILES_SHARE_MAX = 0.095
"""Of the modules of the package. A reader of many small files opens files half of the time."""
EMPTY_WORDS = {"manager", "util", "utils", "helper", "helpers", "impl", "abstract"}
# PyFlink's own public names.
ALLOWED = {"JobManagerCheckpointStorage"}


def words(identifier: str) -> set[str]:
    """`fooBar`, `FooBar` and `foo_bar` are made of foo and bar."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", identifier)}


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements of a tree, each before those in it. Nine of ten nodes are expressions, which are left out."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(tree, field, ()):
            yield statement
            yield from statements(statement)


def docstring_lines(nodes: list[ast.AST]) -> set[int]:
    """The lines of texts that stand alone: docstrings, also those of attributes."""
    texts = [
        node
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return {line for text in texts for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)}


def code_lines(source: str, nodes: list[ast.AST]) -> set[int]:
    """The numbers of the code lines."""
    written = {
        number
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    return written - docstring_lines(nodes)


def found_in(path: Path, source: str, tree: ast.Module) -> Iterator[str]:
    """What is wrong with a file."""
    nodes = list(statements(tree))
    code = code_lines(source, nodes)
    if words(path.stem) & EMPTY_WORDS:
        yield f"{name(path)} has an empty name"
    if len(code) > FILE_LINES_MAX:
        yield f"{name(path)} has {len(code)} lines of code"
    for node in nodes:
        if isinstance(node, ast.ClassDef) and node.name not in ALLOWED and words(node.name) & EMPTY_WORDS:
            yield f"{name(path)}:{node.lineno} class {node.name} has an empty name"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = code.intersection(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            if len(own) > FUNCTION_LINES_MAX:
                yield f"{name(path)}:{node.lineno} {node.name} has {len(own)} lines of code"


def test_files_and_functions_are_short_and_names_say_what_a_thing_is() -> None:
    """One test for all rules and files: to parse the files takes most of the time."""
    found: list[str] = []
    public: dict[str, list[str]] = defaultdict(list)
    lines: list[int] = []
    for path in python_files():
        source, tree = path.read_text(), parse(path)
        found += found_in(path, source, tree)
        if path.is_relative_to(PACKAGE):
            if path.name != "__init__.py":
                lines.append(len(source.splitlines()))
                if lines[-1] > FILE_LINES_MAX:
                    found.append(f"{name(path)} has {lines[-1]} lines: split it along its concepts")
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    public[node.name].append(name(path))
    small = sum(length < SMALL_FILE_LINES for length in lines)
    if small > SMALL_FILES_SHARE_MAX * len(lines):
        found.append(f"{small} of {len(lines)} modules are small: put a new one where its concept is")
    found += [f"{each} is a class of {' and '.join(paths)}" for each, paths in public.items() if len(paths) > 1]
    assert found == []


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
    assert code_lines(source, list(statements(ast.parse(source)))) == lines
