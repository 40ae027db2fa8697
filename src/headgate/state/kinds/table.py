"""The table of kinds: all words for kinds of state that a snapshot may have, and what they stand for."""

from __future__ import annotations

from typing import Final

from headgate.state.kinds.aggregating_state import AGGREGATING
from headgate.state.kinds.forms import SINGLE, TIMES
from headgate.state.kinds.kind import Kind
from headgate.state.kinds.list_state import LIST
from headgate.state.kinds.map_state import MAP
from headgate.state.kinds.reducing_state import REDUCING
from headgate.state.kinds.value_state import VALUE

TIMERS: Final = Kind("timers", TIMES)
"""Timers of a keyed operator, which no program declares."""

OPERATOR_LIST: Final = Kind("operator list", SINGLE)
UNION_LIST: Final = Kind("union list", SINGLE)
BROADCAST: Final = Kind("broadcast", SINGLE)
"""Operator state, which is converted as a whole."""

KINDS: Final[dict[str, Kind]] = {
    kind.name: kind for kind in (VALUE, LIST, MAP, REDUCING, AGGREGATING, TIMERS, OPERATOR_LIST, UNION_LIST, BROADCAST)
}
