"""The pages of reference/api: which class of headgate is on which page."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from docs.api_text import Shown, as_markdown


@dataclass(frozen=True)
class ApiPage:
    """A page, and the public modules whose names it shows.

    A name is on the page of the module that defines it, if there is one, else on the first page that has it.
    """

    name: str
    title: str
    about: str
    modules: tuple[str, ...]


API_PAGES = (
    ApiPage(
        "common",
        "Types and settings",
        "Types, rows, times, watermark strategies, settings, and the client of a job.",
        ("common", "common.typeinfo", "common.watermark_strategy"),
    ),
    ApiPage(
        "state",
        "State",
        "Descriptors, which name a state, and handles, which read and write it ([guide](../../guides/state.md)).",
        ("datastream.state",),
    ),
    ApiPage(
        "window",
        "Windows",
        "Assigners, triggers and evictors ([guide](../../guides/windows.md)).",
        ("datastream.window",),
    ),
    ApiPage(
        "functions",
        "Functions",
        "The base classes of a program's functions, and the contexts that they get.",
        (
            *("datastream.functions", "metrics"),
            *(f"datastream.async_retry_{name}" for name in ("strategies", "predicates")),
        ),
    ),
    ApiPage(
        "streams",
        "Environment and streams",
        "The environment, where a program begins, and the streams that it makes.",
        (
            "datastream",
            *(f"datastream.{name}" for name in ("data_stream", "joined_streams", "interval_join", "asof_join")),
        ),
    ),
    ApiPage("patterns", "Patterns", "Sequences of records ([guide](../../guides/patterns.md)).", ("pattern",)),
    ApiPage(
        "connectors",
        "Connectors",
        "Sources and sinks. Their promises are in the [table of connectors](../connectors.md).",
        (
            *(f"datastream.connectors.{name}" for name in ("base", "kafka", "dynamic_kafka", "file_system", "jdbc")),
            *(f"datastream.connectors.{name}" for name in ("hybrid_source", "number_seq", "spark")),
            *(f"connectors.{name}" for name in ("datagen", "rate", "delta", "postgres")),
        ),
    ),
    ApiPage(
        "formats",
        "Formats",
        "Rows as bytes and as columns ([what each promises](../formats.md)).",
        (*(f"datastream.formats.{name}" for name in ("json", "csv", "avro", "parquet", "orc")), "table.types"),
    ),
    ApiPage(
        "dataframe",
        "DataFrames",
        "DataFrames on Arrow columns ([guide](../../guides/dataframe-api.md)), their expressions and environments.",
        ("dataframe", "table.expressions", "table"),
    ),
    ApiPage(
        "own-connectors",
        "Sources and sinks of your own",
        "Protocols of [sources](../../guides/sources.md) and [sinks](../../guides/sinks.md), and classes to build on.",
        tuple(f"functions.{name}" for name in ("source", "sink", "fetching", "acknowledging", "flushing")),
    ),
    ApiPage(
        "savepoints",
        "State as data",
        "Reads and writes snapshots ([guide](../../guides/savepoints-api.md)).",
        ("savepoints",),
    ),
    ApiPage(
        "testing",
        "Tests of your own",
        "Harness, simulation, and checks for sources and sinks ([guide](../../guides/testing.md)).",
        tuple(f"testing.{name}" for name in ("harness", "factories", "sim", "contracts.source", "contracts.sink")),
    ),
    ApiPage("errors", "Errors", "Errors and warnings that headgate raises.", ("errors",)),
)


HANDED_ON = {
    *("Aggregation", "Batch", "Choice", "CloseableResults", "InputFormat", "OperatorFactory", "OperatorSnapshot"),
    *("RecordFormat", "Reduction", "RowGroupSplit", "SavepointFormat", "Schema", "SessionOf", "Settings"),
    *("TimeIntervalUnit", "TimePointUnit", "UserDefinedFunction", "VirtualClock"),
}
"""Classes that no page shows, and whose objects programs hand on."""
INTERNAL = {
    *("IndexReader", "IndexSplit", "index_splits", "RateLimitedReader", "check_rate", "splits_of_all_stages"),
    *("Handle.column", "SingleHandle.store", "SingleHandle.stored", "ReducingStateDescriptor.combine"),
    *("WatermarkStrategy.does_nothing", "StreamExecutionEnvironment.collect_frame"),
    *(f"PostgresTable.{name}" for name in ("rows", "writing", "identifier", "insert_from", "create_staging", "copy")),
}
"""Names without an underscore that only headgate uses."""


def api_page(page: ApiPage) -> str:
    """Return the Markdown of a page."""
    lines = [f"# {page.title}", "", page.about]
    for module, names in _shown()[page.name]:
        lines += ["", f"## `headgate.{module}`"] if names else []
        for name in names:
            lines += as_markdown(_shown_as(name, f"headgate.{module}.{name}", getattr(_module(module), name)))
    return "\n".join([*lines, ""])


def _shown_as(name: str, path: str, found: Any) -> Shown:
    if not isinstance(found, type):
        return Shown(name, found)
    paths = shown_paths()
    hidden = tuple(base for base in found.__mro__[1:] if is_internal(base))
    return Shown(
        name,
        found,
        bases=tuple(_link(paths[base]) for base in found.__mro__[1:] if base in paths),
        inherited=hidden,
        excluded=frozenset(name for owner in (found, *hidden) for name in _excluded(owner, path)),
        hides_signature=inspect.isabstract(found) or names_internals(inspect.getattr_static(found, "__init__")),
        nested=tuple(
            _shown_as(f"{name}.{each}", f"{path}.{each}", value)
            for each, value in vars(found).items()
            if isinstance(value, type) and paths.get(value) == f"{path}.{each}"
        ),
    )


def _link(path: str) -> str:
    """Return a link to a class that a page shows."""
    for page, modules in _shown().items():
        for module, names in modules:
            name = path.removeprefix(f"headgate.{module}.")
            if name.partition(".")[0] in names:
                return f"[`{name}`]({page}.md#{re.sub(r'[^a-z0-9_-]', '', name.lower())})"
    raise KeyError(path)


def _excluded(owner: type, path: str) -> Iterator[str]:
    """Yield the public members of a class that are shown elsewhere, or that only internals call."""
    for name, value in vars(owner).items():
        if name.startswith("_"):
            continue
        if f"{owner.__name__}.{name}" in INTERNAL:
            yield name
        elif isinstance(value, type):
            if value in shown_paths() and shown_paths()[value] != f"{path}.{name}":
                yield name
        elif names_internals(getattr(value, "__func__", getattr(value, "fget", value))):
            yield name


def names_internals(function: object) -> bool:
    """Return whether a parameter or the result of a function is of a class that no page shows."""
    scope = getattr(function, "__globals__", {})
    scope = {**_imports_for_types(scope.get("__name__", "headgate")), **scope}
    texts = [str(hint) for hint in getattr(function, "__annotations__", {}).values()]
    return any(is_internal(scope.get(name)) for text in texts for name in re.findall(r"\w+", text))


@functools.cache
def _imports_for_types(module: str) -> dict[str, object]:
    """Return the objects of headgate that a module imports for type checkers only, by name."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body if module.startswith("headgate.") else []
    blocks = [each.body for each in body if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"]
    imports = [each for block in blocks for each in block if isinstance(each, ast.ImportFrom)]
    return {
        alias.name: getattr(importlib.import_module(each.module), alias.name)
        for each in imports
        if each.module is not None and each.module.startswith("headgate.")
        for alias in each.names
    }


def is_internal(found: object) -> bool:
    """Return whether this is a class of headgate that no page shows."""
    if not isinstance(found, type) or not found.__module__.startswith("headgate."):
        return False
    return found not in shown_paths() and found.__name__ not in HANDED_ON


@functools.cache
def shown_paths() -> dict[type, str]:
    """Return the path of each class that a page shows, by the class."""
    paths: dict[type, str] = {}
    for modules in _shown().values():
        for module, names in modules:
            for name in names:
                _add_path(paths, f"headgate.{module}.{name}", getattr(_module(module), name))
    return paths


def _add_path(paths: dict[type, str], path: str, found: object) -> None:
    if isinstance(found, type):
        paths.setdefault(found, path)
        for name, value in vars(found).items():
            if isinstance(value, type) and not name.startswith("_") and value not in paths:
                _add_path(paths, f"{path}.{name}", value)


_API_HEAD = """# API

Signatures and docstrings of all public names, by module.

| page | about | modules |
|---|---|---|"""


def api_index() -> str:
    """Return the Markdown of the page that lists the others."""
    rows = (f"| [{page.title}]({page.name}.md) | {page.about} | {_list(page.modules)} |" for page in API_PAGES)
    return "\n".join([_API_HEAD, *rows, ""])


def _list(modules: tuple[str, ...]) -> str:
    return ", ".join(f"`headgate.{module}`" for module in modules)


@functools.cache
def _shown() -> dict[str, list[tuple[str, list[str]]]]:
    seen: set[int] = set()
    shown: dict[str, list[tuple[str, list[str]]]] = {}
    for page in API_PAGES:
        shown[page.name] = [(module, list(_new_names(module, seen))) for module in page.modules]
    return shown


def _new_names(module: str, seen: set[int]) -> Iterator[str]:
    for name in _public_names(module):
        found = getattr(_module(module), name)
        if not (isinstance(found, type) or inspect.isroutine(found)) or name in INTERNAL:
            continue
        is_alias = found.__name__ != name
        if id(found) not in seen and not is_alias and _is_home(module, found):
            seen.add(id(found))
            yield name


def _is_home(module: str, found: object) -> bool:
    defines = found.__module__.removeprefix("headgate.")
    return defines == module or not any(defines in page.modules for page in API_PAGES)


def _public_names(module: str) -> list[str]:
    found = _module(module)
    own = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__]
    names: list[str] = getattr(found, "__all__", None) or [name for name in own if not name.startswith("_")]
    return names


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"headgate.{name}")
