"""What browser tests share."""

from __future__ import annotations

import pytest

from tests.browser.chromium import browser

__all__ = ["browser"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests are slow tests."""
    for item in items:
        if "/tests/browser/" in str(item.path):
            item.add_marker(pytest.mark.slow)
