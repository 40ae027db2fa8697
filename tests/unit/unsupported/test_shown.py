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
    """Do `from headgate.module import name`."""
    namespace: dict[str, Any] = {}
    exec(f"from headgate.{module} import {name} as found", namespace)  # as a program does it
    return namespace["found"]


@pytest.mark.parametrize("module", SHOWN)
def test_each_name_that_a_module_shows_is_there_or_refused_with_advice(module: str) -> None:
    for name in SHOWN[module]:
        try:
            found = imported(module, name)
        except UnsupportedError as error:
            assert isinstance(error, ImportError)
            assert ": " in str(error), name
        else:
            assert found is not None


def test_a_module_shows_the_very_class_of_its_home() -> None:
    from headgate.common import Duration
    from headgate.common.watermark_strategy import Duration as shown

    assert shown is Duration
    connectors = importlib.import_module("headgate.datastream.connectors")
    assert connectors.KafkaSource is importlib.import_module("headgate.datastream.connectors.kafka").KafkaSource
    assert not hasattr(connectors, "PulsarSource")
    assert not hasattr(connectors, "Nonsense")


def test_no_name_is_listed_that_pyflink_does_not_show_there() -> None:
    assert [line for line in HOMES if SHOWN[line[0]].get(line[1]) != HOMES[line]] == []
