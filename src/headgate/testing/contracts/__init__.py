"""Checks of what every source, sink and checkpoint store must do.

They are installed with headgate so that you can run them on connectors and stores that you write yourself, in your own
tests. Production code does not import them.
"""

from __future__ import annotations

import pytest

# Makes a check that fails under pytest show the compared values, as an assertion in the test itself does.
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in ("sink", "source", "store")))
