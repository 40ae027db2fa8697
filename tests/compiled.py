"""The compiled module, for tests of what it does. Tests that need it are skipped where there is none."""

from __future__ import annotations

from types import ModuleType

import pytest

from headgate import native


def compiled_module() -> ModuleType:
    module = native.chosen("auto")
    if module is None:
        pytest.skip(native.describe())
    return module
