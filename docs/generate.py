"""Writes the pages of docs/ that follow from the code: `python -m docs.generate`, or `make docs`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from docs.api_pages import API_PAGES, api_index, api_page
from headgate import unsupported
from headgate.errors import UnsupportedError
from headgate.options import REGISTRY
from headgate.runtime.monitoring.metrics import (
    JOB_METRICS,
    OPERATOR_METRICS,
    TASK_METRICS,
    JobMetric,
    OperatorMetric,
    TaskMetric,
)
from headgate.unsupported.table import FEATURES, Feature

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
    return "\n".join(
        [
            "# PyFlink's names in headgate",
            "",
            "Replace the import root `pyflink` by `headgate`. This page is written by `make docs` from the names of",
            "PyFlink 2.3 and from the table of missing things in `headgate.unsupported`; whatever is missing raises an",
            "error that says the same. Names of older releases (`set_state_backend`, `set_checkpoint_storage`,",
            "`set_restart_strategy`, `enable_externalized_checkpoints`, `FsStateBackend`, ...) work as well; they live",
            "in `headgate.datastream.legacy`.",
            "",
            "## What is missing, and what to use instead",
            "",
            "| missing | use instead | planned |",
            "|---|---|---|",
            *(f"| {feature.title} | {feature.instead} | {_yes(feature.planned)} |" for feature in FEATURES),
            "",
            "## Module by module",
            "",
            "| module | works | missing |",
            "|---|---|---|",
            *_module_rows(),
            "",
            "## Values and configuration keys that are refused",
            "",
            *(f"- `{name}`: {feature.title}" for name, feature in _refused()),
            "",
        ]
    )


def _yes(planned: bool) -> str:
    return "yes" if planned else "no"


def _refused() -> Iterator[tuple[str, Feature]]:
    yield from unsupported.VALUES.items()
    yield from unsupported.OPTIONS.items()


def _module_rows() -> Iterator[str]:
    for module, classes in pyflink_names().items():
        present = [name for name in classes if works(module, name)]
        missing = [name for name in classes if name not in present]
        partly = [
            f"{name}.{member}"
            for name in present
            for member in classes[name]
            if "." not in member and not works(module, f"{name}.{member}")
        ]
        yield f"| `{module}` | {_list(present)} | {_list(missing + partly) if present else 'everything'} |"


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def configuration_page() -> str:
    return "\n".join(
        [
            "# Configuration",
            "",
            "A key is set, from the strongest to the weakest, in the program (`Configuration`, or a setter of the",
            "environment), on the command line of the program (`-Dkey=value`), or in the Spark conf as",
            "`spark.headgate.<key>`, where our own keys leave out their `headgate.`. An unknown key of ours, or one",
            "that is much like a key of this page, is an error that names the nearest one. A key of Flink's that",
            "means something there and nothing here is",
            "ignored, with a warning in the log of the driver; one that would change what the job does is refused",
            "([all of them](compat.md#values-and-configuration-keys-that-are-refused)).",
            "",
            "| key | default | value | meaning |",
            "|---|---|---|---|",
            *(
                f"| `{option.key}`{_aliases(option.aliases)} | {_default(option.default, option.kind.unit)} "
                f"| {option.kind.expected} | {option.doc} |"
                for option in REGISTRY.options
            ),
            "",
        ]
    )


def _aliases(aliases: tuple[str, ...]) -> str:
    return f" (older: {_list(list(aliases))})" if aliases else ""


def _default(value: object, unit: str) -> str:
    if value is None or value == {}:
        return "not set"
    if isinstance(value, tuple):
        return "any"
    return f"{str(value).lower() if isinstance(value, bool) else value}{unit}"


def metrics_page() -> str:
    """The page as it is, with its three tables as the code has them."""
    page = (DOCS / "reference" / "metrics.md").read_text()
    for mark, metrics in (("tasks", TASK_METRICS), ("operators", OPERATOR_METRICS), ("job", JOB_METRICS)):
        before, begin, rest = page.partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        page = "".join([before, begin, *(f"{line}\n" for line in _metric_rows(metrics)), end, after])
    return page


def _metric_rows(metrics: Sequence[TaskMetric | OperatorMetric | JobMetric]) -> Iterator[str]:
    yield "| name | type | unit | meaning |"
    yield "|---|---|---|---|"
    for metric in metrics:
        yield f"| `{metric.name}` | {metric.kind} | {metric.unit} | {metric.meaning} |"


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
