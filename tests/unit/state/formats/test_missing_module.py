"""Where the driver has its modules."""

from __future__ import annotations

import itertools
import sys
from types import ModuleType

from headgate.state.formats.missing_module import files_of_modules
from tests.unit.meanwhile import at_each_collection


def test_the_modules_are_listed_while_another_thread_imports_some() -> None:
    before = set(sys.modules)
    names = (f"headgate_made_meanwhile_{number}" for number in itertools.count())

    def _import() -> None:
        name = next(names)
        sys.modules[name] = module = ModuleType(name)
        module.__file__ = f"/somewhere/{name}.py"

    _import()
    try:
        with at_each_collection(_import):
            found = files_of_modules()
        assert found["headgate_made_meanwhile_0"] == "/somewhere/headgate_made_meanwhile_0.py"
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]
