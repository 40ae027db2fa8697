"""Every name that a module of PyFlink has, also by import, exists here or is refused with advice."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from headgate.errors import UnsupportedError
from headgate.unsupported.reexports import HOMES

SHOWN: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "pyflink_shown.json").read_text()
)


def imported(module: str, name: str) -> Any:
    """Do `from headgate.module import name`; without a module, `from headgate import name`."""
    namespace: dict[str, Any] = {}
    owner = f"headgate.{module}" if module else "headgate"
    exec(f"from {owner} import {name} as found", namespace)  # as a program does it
    return namespace["found"]


def missing(module: str, name: str) -> str | None:
    """Return what is wrong with an import, None if the name is there, or refused as an import and with advice."""
    try:
        imported(module, name)
    except UnsupportedError as error:
        refused = isinstance(error, ImportError) and ": " in str(error)
        return None if refused else f"{module}.{name} is refused without advice: {error!r}"
    except (ImportError, AttributeError) as error:
        return f"{module}.{name}: {error!r}"
    return None


def test_each_name_that_a_module_shows_is_there_or_refused_with_advice() -> None:
    assert [found for module in SHOWN for name in SHOWN[module] if (found := missing(module, name))] == []


def test_each_module_is_there_or_refused_with_advice() -> None:
    homes = [f"headgate.{module}".rpartition(".") for module in SHOWN]
    named = [(package.removeprefix("headgate").lstrip("."), name) for package, _, name in homes]
    assert [found for package, name in named if (found := missing(package, name))] == []


def test_a_module_shows_the_very_class_of_its_home() -> None:
    assert imported("common.watermark_strategy", "Duration") is imported("common.time", "Duration")
    connectors = importlib.import_module("headgate.datastream.connectors")
    assert connectors.KafkaSource is importlib.import_module("headgate.datastream.connectors.kafka").KafkaSource
    assert not hasattr(connectors, "PulsarSource")
    assert not hasattr(connectors, "Nonsense")


def test_no_name_is_listed_that_pyflink_does_not_show_there() -> None:
    assert [line for line in HOMES if SHOWN[line[0]].get(line[1]) != HOMES[line]] == []
