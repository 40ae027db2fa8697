"""How many seeds a program is simulated with: a few in `make test`, more in `make soak-long`."""

from __future__ import annotations

from typing import Final

import pytest

on_some_seeds: Final = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(1, 9), id="1 to 8", marks=pytest.mark.slow),
        pytest.param(range(9, 41), id="9 to 40", marks=(pytest.mark.soak, pytest.mark.long)),
    ],
)
