"""What every source, sink and store must do, as checks for implementations of your own."""

from __future__ import annotations

import pytest

# So that a check that fails under pytest shows what it has compared, as an assertion of the test itself does.
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in ("sink", "source", "store")))
