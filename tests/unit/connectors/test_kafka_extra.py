"""Who imports the Kafka connector without its extra is told what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

from headgate.errors import EnvironmentFault


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    package = importlib.import_module("headgate.connectors.kafka")
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(EnvironmentFault, match=r"needs an extra: pip install 'headgate\[kafka\]', in the driver and"):
        importlib.reload(package)
