"""How records pass by value, in Python and compiled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.types.record_copies import BY_VALUE, passing_by_value
from tests.compiled import compiled_module


@pytest.fixture(scope="module", params=["in Python", "compiled"])
def both_passings(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the tests of a module with `BY_VALUE` as it is, and once more with its compiled functions."""
    module = compiled_module() if request.param == "compiled" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request.module, "BY_VALUE", passing_by_value(module))
        assert (request.module.BY_VALUE is BY_VALUE) == (module is None)
        yield
