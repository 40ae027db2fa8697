"""Every name that a module of PyFlink shows, also what it only imports, is there or refused with advice."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

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


def imported_or_refused(module: str, name: str) -> Any:
    try:
        return imported(module, name)
    except UnsupportedError as error:
        return error


def assert_there_or_refused_with_advice(found: object) -> None:
    if isinstance(found, UnsupportedError):
        assert isinstance(found, ImportError)
        assert ": " in str(found)


@pytest.mark.parametrize("module", SHOWN)
def test_each_name_that_a_module_shows_is_there_or_refused_with_advice(module: str) -> None:
    for name in SHOWN[module]:
        assert_there_or_refused_with_advice(imported_or_refused(module, name))


@pytest.mark.parametrize("module", SHOWN)
def test_each_module_is_there_or_refused_with_advice(module: str) -> None:
    package, _, name = f"headgate.{module}".rpartition(".")
    assert_there_or_refused_with_advice(imported_or_refused(package.removeprefix("headgate").lstrip("."), name))


def test_a_module_shows_the_very_class_of_its_home() -> None:
    assert imported("common.watermark_strategy", "Duration") is imported("common.time", "Duration")
    connectors = importlib.import_module("headgate.datastream.connectors")
    assert connectors.KafkaSource is importlib.import_module("headgate.datastream.connectors.kafka").KafkaSource
    assert not hasattr(connectors, "PulsarSource")
    assert not hasattr(connectors, "Nonsense")


def test_no_name_is_listed_that_pyflink_does_not_show_there() -> None:
    assert [line for line in HOMES if SHOWN[line[0]].get(line[1]) != HOMES[line]] == []
