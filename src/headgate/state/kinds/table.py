"""The table of kinds: all words for kinds of state that a snapshot may have, and what they stand for."""

from __future__ import annotations

from typing import Final

from headgate.state.kinds.aggregating_state import AGGREGATING
from headgate.state.kinds.forms import SINGLE, TIMES
from headgate.state.kinds.kind import SavedKind
from headgate.state.kinds.list_state import LIST
from headgate.state.kinds.map_state import MAP
from headgate.state.kinds.reducing_state import REDUCING
from headgate.state.kinds.value_state import VALUE

TIMERS: Final = SavedKind("timers", TIMES)
"""Timers of a keyed operator, which no program declares."""

OPERATOR_LIST: Final = SavedKind("operator list", SINGLE)
UNION_LIST: Final = SavedKind("union list", SINGLE)
BROADCAST: Final = SavedKind("broadcast", SINGLE)
"""Operator state, which is converted as a whole."""

KINDS: Final[dict[str, SavedKind]] = {
    kind.name: kind for kind in (VALUE, LIST, MAP, REDUCING, AGGREGATING, TIMERS, OPERATOR_LIST, UNION_LIST, BROADCAST)
}
