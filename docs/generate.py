"""Writes the pages of docs/ that follow from the code: `python -m docs.generate`, or `make docs`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from docs.api_pages import API_PAGES, api_index, api_page
from headgate import unsupported
from headgate.config import Option
from headgate.errors import UnsupportedError
from headgate.options import GROUPS
from headgate.runtime.monitoring.metrics import (
    JOB_METRICS,
    OPERATOR_METRICS,
    TASK_METRICS,
    JobMetric,
    OperatorMetric,
    TaskMetric,
)
from headgate.unsupported.table import FEATURES

DOCS = Path(__file__).parent
NAMES = DOCS.parent / "tests" / "fixtures" / "pyflink_names.json"


def pyflink_names() -> dict[str, dict[str, list[str]]]:
    """Every public name of PyFlink's DataStream API: module -> class -> members."""
    names: dict[str, dict[str, list[str]]] = json.loads(NAMES.read_text())
    return names


def works(module: str, path: str) -> bool:
    """Whether headgate has the name; False if the table refuses it. Raises AttributeError if neither is so."""
    try:
        found = importlib.import_module(f"headgate.{module}")
        for part in path.split("."):
            found = getattr(found, part)
    except UnsupportedError:
        return False
    return True


def compat_page() -> str:
    tables = {"missing": _missing_rows(), "modules": _module_rows(), "refused": _refused_rows()}
    return _with_tables("reference/compat.md", tables)


def _missing_rows() -> Iterator[str]:
    yield from ("| missing | use instead | planned |", "|---|---|---|")
    for feature in FEATURES:
        yield f"| {feature.title} | {feature.instead} | {_yes(feature.planned)} |"


def _yes(planned: bool) -> str:
    return "yes" if planned else "no"


def _refused_rows() -> Iterator[str]:
    yield from ("| refused | as it is one of |", "|---|---|")
    for name, feature in {**unsupported.VALUES, **unsupported.OPTIONS}.items():
        yield f"| `{name}` | {feature.title} |"


def _module_rows() -> Iterator[str]:
    yield from ("| module | works | missing |", "|---|---|---|")
    for module, classes in pyflink_names().items():
        present = [name for name in classes if works(module, name)]
        missing = [name for name in classes if name not in present]
        partly = [
            f"{name}.{member}"
            for name in present
            for member in classes[name]
            if "." not in member
            and not works(module, f"{name}.{member}")
            and not _of_base(module, name, member, classes)
        ]
        yield f"| `{module}` | {_list(present)} | {_list(missing + partly) if present else 'everything'} |"


def _of_base(module: str, name: str, member: str, classes: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a base class in the module has the member, and so the row, too."""
    bases = getattr(importlib.import_module(f"headgate.{module}"), name).__mro__[1:]
    return any(member in classes.get(base.__name__, ()) for base in bases)


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def configuration_page() -> str:
    return _with_tables(
        "reference/configuration.md", {group: _option_rows(options) for group, options in GROUPS.items()}
    )


def _option_rows(options: Sequence[Option[object]]) -> Iterator[str]:
    yield from ("| key | value, default | meaning |", "|---|---|---|")
    for option in options:
        older = "".join(f"<br>older: `{alias}`" for alias in option.aliases)
        yield f"| `{option.key}`{older} | {option.kind.name}<br>{_default(option)} | {option.doc} |"


def _default(option: Option[object]) -> str:
    value = option.default
    match value:
        case None | {}:
            return "not set"
        case (0, 0):
            return "**0**"
        case bool():
            return f"**{str(value).lower()}**"
        case int() if option.kind.unit:
            return f"**{_with_unit(value, UNITS[option.kind.unit])}**"
        case _:
            return f"**{value}**"


UNITS = {
    " ms": {"h": 3_600_000, "min": 60_000, "s": 1000, "ms": 1},
    " bytes": {"mb": 2**20, "kb": 2**10, "bytes": 1},
}


def _with_unit(value: int, units: Mapping[str, int]) -> str:
    """Return the value in the greatest unit that has no fraction."""
    unit = next(unit for unit, size in units.items() if value % size == 0 and (value or size == 1))
    return f"{value // units[unit]} {unit}"


def metrics_page() -> str:
    tables: dict[str, Sequence[TaskMetric | OperatorMetric | JobMetric]] = {
        "tasks": TASK_METRICS,
        "operators": OPERATOR_METRICS,
        "job": JOB_METRICS,
    }
    return _with_tables("reference/metrics.md", {mark: _metric_rows(metrics) for mark, metrics in tables.items()})


def _metric_rows(metrics: Sequence[TaskMetric | OperatorMetric | JobMetric]) -> Iterator[str]:
    yield from ("| name | type | unit | meaning |", "|---|---|---|---|")
    for metric in metrics:
        yield f"| `{metric.name}` | {metric.kind} | {metric.unit} | {metric.meaning} |"


def _with_tables(name: str, tables: Mapping[str, Iterable[str]]) -> str:
    """Return the page as it is, with the lines of each table between `<!-- mark -->` and `<!-- end -->`."""
    page = (DOCS / name).read_text()
    for mark, rows in tables.items():
        before, begin, rest = page.partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        page = "".join([before, begin, *(f"{row}\n" for row in rows), end, after])
    return page


PAGES: dict[str, Callable[[], str]] = {
    "reference/compat.md": compat_page,
    "reference/configuration.md": configuration_page,
    "reference/metrics.md": metrics_page,
    "reference/api/index.md": api_index,
    **{f"reference/api/{page.name}.md": partial(api_page, page) for page in API_PAGES},
}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())


if __name__ == "__main__":
    main()
