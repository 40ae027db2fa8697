"""Who imports a connector without its extra is told what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

from headgate.errors import EnvironmentFault


@pytest.mark.parametrize(("name", "library"), [("kafka", "confluent_kafka"), ("postgres", "psycopg")])
def test_without_the_extra_the_error_names_it(name: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = importlib.import_module(f"headgate.connectors.{name}")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EnvironmentFault, match=rf"an extra: pip install 'headgate\[{name}\]', in the driver and"):
        importlib.reload(package)
