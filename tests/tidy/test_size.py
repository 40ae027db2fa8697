"""Nothing grows unseen: the lines of files, and names that say nothing. ruff counts the statements of functions."""

from __future__ import annotations

import re
from collections import defaultdict

from tests.tidy.sources import PACKAGE, name, python_files

FILE_LINES_MAX = 450
"""Without empty lines and comments, and of all lines in a module of the package."""
SMALL_FILE_LINES = 60
SMALL_FILES_SHARE_MAX = 0.095
"""Of the modules of the package. A reader of many small files opens files half of the time."""
EMPTY_WORDS = {"manager", "util", "utils", "helper", "helpers", "impl", "abstract"}
# PyFlink's own public names.
ALLOWED = {"JobManagerCheckpointStorage"}
CLASS = re.compile(r"^( *)class (\w+)", re.MULTILINE)


def words(identifier: str) -> set[str]:
    """`fooBar`, `FooBar` and `foo_bar` are made of foo and bar."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", identifier)}


def test_files_are_short_and_names_say_what_a_thing_is() -> None:
    found: list[str] = []
    public: dict[str, list[str]] = defaultdict(list)
    sizes: list[int] = []
    for path in python_files():
        source = path.read_text()
        lines = source.splitlines()
        in_package = path.is_relative_to(PACKAGE)
        counted = len(lines) if in_package else sum(line.strip() != "" and line.lstrip()[0] != "#" for line in lines)
        if counted > FILE_LINES_MAX:
            found.append(f"{name(path)} has {counted} lines: split it along its concepts")
        if in_package and path.name != "__init__.py":
            sizes.append(counted)
        classes = CLASS.findall(source)
        empty = [each for each in (path.stem, *(each for _, each in classes)) if words(each) & EMPTY_WORDS]
        found += [f"{name(path)}: {each} is an empty name" for each in empty if each not in ALLOWED]
        for indent, each in classes:
            if in_package and not indent and not each.startswith("_"):
                public[each].append(name(path))
    small = sum(size < SMALL_FILE_LINES for size in sizes)
    if small > SMALL_FILES_SHARE_MAX * len(sizes):
        found.append(f"{small} of {len(sizes)} modules are small: put a new one where its concept is")
    found += [f"{each} is a class of {' and '.join(paths)}" for each, paths in public.items() if len(paths) > 1]
    assert found == []
