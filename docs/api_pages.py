"""The pages of reference/api: which class of headgate is on which page. Sphinx reads the docstrings."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType


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
    ApiPage("common", "Types and settings", "What all programs use: types, rows, settings, jobs.", ("common",)),
    ApiPage("state", "State", "Descriptors and handles of state.", ("datastream.state",)),
    ApiPage("window", "Windows", "Assigners, triggers and evictors.", ("datastream.window",)),
    ApiPage("functions", "Functions", "What programs derive from.", ("datastream.functions", "metrics")),
    ApiPage("streams", "Environment and streams", "Where a program begins, and its streams.", ("datastream",)),
    ApiPage("patterns", "Patterns", "Sequences of records.", ("pattern",)),
    ApiPage(
        "connectors",
        "Connectors",
        "Sources and sinks that come along.",
        (
            *(f"datastream.connectors.{name}" for name in ("base", "kafka", "dynamic_kafka", "file_system", "jdbc")),
            *(f"datastream.connectors.{name}" for name in ("hybrid_source", "number_seq", "spark")),
            *(f"connectors.{name}" for name in ("datagen", "rate", "delta", "postgres")),
        ),
    ),
    ApiPage(
        "formats",
        "Formats",
        "Rows as bytes, and as columns.",
        tuple(f"datastream.formats.{name}" for name in ("json", "csv", "avro", "parquet", "orc")),
    ),
    ApiPage(
        "own-connectors",
        "Sources and sinks of your own",
        "The protocols, and classes that do a part of the work.",
        tuple(f"functions.{name}" for name in ("source", "sink", "fetching", "acknowledging", "flushing")),
    ),
    ApiPage("savepoints", "State as data", "Snapshots read and written.", ("savepoints",)),
    ApiPage(
        "testing",
        "Tests of your own",
        "Harness and simulation.",
        ("testing.harness", "testing.factories", "testing.sim"),
    ),
    ApiPage("errors", "Errors", "What headgate raises.", ("errors",)),
)


def api_page(page: ApiPage) -> str:
    """Return the Markdown of a page."""
    lines = [f"# {page.title}", "", page.about]
    for module, names in _shown()[page.name]:
        lines += ["", f"## `headgate.{module}`"]
        for name in names:
            directive = _directive(f"headgate.{module}.{name}", getattr(_module(module), name))
            lines += ["", "```{eval-rst}", *directive, "```"]
    return "\n".join([*lines, ""])


def _directive(path: str, found: object) -> Iterator[str]:
    if not isinstance(found, type):
        yield f".. autofunction:: {path}"
        return
    yield f".. autoclass:: {path}"
    own = [name for name, value in vars(found).items() if isinstance(value, type) and value.__name__ == name]
    elsewhere = [name for name in own if not vars(found)[name].__qualname__.startswith(f"{found.__qualname__}.")]
    if elsewhere:
        yield f"   :exclude-members: {', '.join(elsewhere)}"


def api_index() -> str:
    """Return the Markdown of the page that lists the others."""
    rows = (f"| [{page.title}]({page.name}.md) | {_list(page.modules)} | {page.about} |" for page in API_PAGES)
    head = ["# API", "", "Signatures and docstrings of all public names, by module.", "", "| page | modules | about |"]
    return "\n".join([*head, "|---|---|---|", *rows, ""])


def _list(modules: tuple[str, ...]) -> str:
    return ", ".join(f"`headgate.{module}`" for module in modules)


def _shown() -> dict[str, list[tuple[str, list[str]]]]:
    seen: set[int] = set()
    shown: dict[str, list[tuple[str, list[str]]]] = {}
    for page in API_PAGES:
        shown[page.name] = [(module, list(_new_names(module, seen))) for module in page.modules]
    return shown


def _new_names(module: str, seen: set[int]) -> Iterator[str]:
    for name in _public_names(module):
        found = getattr(_module(module), name)
        if (isinstance(found, type) or inspect.isroutine(found)) and id(found) not in seen and _is_home(module, found):
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
