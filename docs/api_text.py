"""Classes and functions as Markdown: their signatures and docstrings, which the repository shows without a build."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

_LINE_MAX = 100


@dataclass(frozen=True)
class Shown:
    """A class or function as a page shows it: its dotted name there, and what the page leaves out.

    `bases` are links to the pages of base classes. `inherited` are bases without a page, whose members count as the
    class's own. `hides_signature` is for classes that programs get, and do not make.
    """

    name: str
    found: Any
    bases: tuple[str, ...] = ()
    inherited: tuple[type, ...] = ()
    excluded: frozenset[str] = frozenset()
    hides_signature: bool = False
    nested: tuple[Shown, ...] = field(default=())


def as_markdown(shown: Shown, level: int = 3) -> Iterator[str]:
    """Yield the lines of a class with its members, or of a function."""
    if not isinstance(shown.found, type):
        yield from _entry(level, shown.name, [f"def {_signature(shown.found, shown.name)}"], shown.found.__doc__)
        return
    head = f"class {shown.name}" if shown.hides_signature else f"class {_signature_of_class(shown)}"
    yield from _entry(level, shown.name, [head], shown.found.__doc__, shown.bases)
    made = vars(shown.found).get("__init__")
    if not shown.hides_signature and made is not None and made.__doc__:
        yield from ("", *_fenced(inspect.cleandoc(made.__doc__).splitlines()))
    nested = {each.found: each for each in shown.nested}
    for owner in (shown.found, *shown.inherited):
        texts = attribute_docs(owner)
        for name, value in list(vars(owner).items()):  # Python 3.14 adds annotations when they are first read
            if value in nested.values() or (isinstance(value, type) and value in nested):
                yield from as_markdown(nested[value], level + 1)
            elif not name.startswith("_") and name not in shown.excluded:
                yield from _member(level + 1, shown, name, value, texts)
        for name in [name for name in texts if name not in vars(owner) and name not in shown.excluded]:
            yield from _entry(level + 1, f"{shown.name}.{name}", [_annotated(owner, name)], texts[name])


def _member(level: int, shown: Shown, name: str, value: Any, texts: dict[str, str]) -> Iterator[str]:
    path = f"{shown.name}.{name}"
    if isinstance(value, property):
        if value.__doc__:
            result = getattr(value.fget, "__annotations__", {}).get("return", "Any")
            yield from _entry(level, path, [f"{name}: {result}"], value.__doc__)
    elif isinstance(value, (staticmethod, classmethod)):
        if value.__func__.__doc__:
            head = [f"@{type(value).__name__}", f"def {_signature(value.__func__, name)}"]
            yield from _entry(level, path, head, value.__func__.__doc__)
    elif inspect.isfunction(value):
        if value.__doc__:
            kind = "async def" if inspect.iscoroutinefunction(value) else "def"
            yield from _entry(level, path, [f"{kind} {_signature(value, name)}"], value.__doc__)
    elif name in texts or (isinstance(value, Enum) and isinstance(value, shown.found)):
        yield from _entry(level, path, [_annotated(shown.found, name)], texts.get(name, ""))


def _entry(level: int, name: str, head: list[str], text: str | None, bases: tuple[str, ...] = ()) -> Iterator[str]:
    yield from ("", f"{'#' * level} `{name}`", "", "```py", *head, "```")
    if bases:
        yield from ("", f"Extends {', '.join(bases)}.")
    if text:
        yield from ("", *_fenced(inspect.cleandoc(text).splitlines()))


def _fenced(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a docstring with a fence around each of its examples."""
    is_example = False
    for line in lines:
        if line.startswith(">>> ") and not is_example:
            is_example = True
            yield "```pycon"
        elif not line and is_example:
            is_example = False
            yield "```"
        yield line
    if is_example:
        yield "```"


def _signature_of_class(shown: Shown) -> str:
    if issubclass(shown.found, Enum):
        return f"{shown.name}(Enum)"
    made_by = [inspect.getattr_static(shown.found, name) for name in ("__init__", "__new__")]
    if not any(_is_python(getattr(each, "__func__", each)) for each in made_by):
        return shown.name
    return _signature(shown.found, shown.name).removesuffix(" -> None")


def _is_python(function: Any) -> bool:
    return inspect.isfunction(function) and function.__module__ != "typing"


def _signature(function: Callable[..., Any], name: str) -> str:
    found = inspect.signature(function)
    parameters = [
        each.replace(annotation=_plain_type(each.annotation), default=_plain_value(each.default))
        for each in found.parameters.values()
        if each.name not in ("self", "cls")
    ]
    result = found.return_annotation
    after = "" if result is inspect.Signature.empty else f" -> {result}"
    line = f"{name}{inspect.Signature(parameters)}{after}"
    if len(line) <= _LINE_MAX:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in _one_by_one(parameters)), f"){after}"])


def _one_by_one(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Yield the parameters and the markers `/` and `*` between them, as a call would have them on a line each."""
    kinds = inspect.Parameter
    for place, each in enumerate(parameters):
        before = parameters[place - 1].kind if place else None
        if before is kinds.POSITIONAL_ONLY and each.kind is not kinds.POSITIONAL_ONLY:
            yield "/"
        if each.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
            yield "*"
        yield str(each)
    if parameters and parameters[-1].kind is kinds.POSITIONAL_ONLY:
        yield "/"


class _Text:
    """A text that is shown without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _plain_type(annotation: Any) -> Any:
    return _Text(annotation) if isinstance(annotation, str) else annotation


def _plain_value(default: Any) -> Any:
    """Return a default that is written the same in each process and version of Python."""
    if default is inspect.Parameter.empty or isinstance(default, (str, bytes, int, float, tuple, type(None))):
        return _Text(f"{type(default).__name__}.{default.name}") if isinstance(default, Enum) else default
    if isinstance(default, Enum):
        return _Text(f"{type(default).__name__}.{default.name}")
    if callable(default) and hasattr(default, "__name__"):
        return _Text(default.__name__)
    return _Text("...") if re.search(r"<.*>", repr(default)) else _Text(repr(default))


def _annotated(owner: type, name: str) -> str:
    if issubclass(owner, Enum):
        return name
    annotation = inspect.get_annotations(owner).get(name)
    return f"{name}: {annotation}" if isinstance(annotation, str) else name


def attribute_docs(owner: type) -> dict[str, str]:
    """Return the texts below the attributes of a class, and below those that its constructor sets, by their names."""
    try:
        source = textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError):
        return {}
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    makes = [each.body for each in body.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    return {name: text for block in (body.body, *makes) for name, text in _documented(block) if name[0] != "_"}


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, following in itertools.pairwise(body):
        if not isinstance(following, ast.Expr) or not isinstance(following.value, ast.Constant):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, str(following.value.value)
            elif isinstance(target, ast.Attribute):
                yield target.attr, str(following.value.value)
