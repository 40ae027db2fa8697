"""The order in which the rules of the planner make a plan that does less work:

1. `merged`: projections that follow each other become one, and so do filters.
2. `timed`: watermarks move into the sources, where each split has its own.
3. `pushed`: filters move towards the sources, below projections and unions.
4. `pruned`: each relation computes only the columns that are read, so sources read only these.
5. `ordered`: the columns that joins keep are in an order that does not depend on the program.
6. `separated`: calls of asynchronous functions, and functions with a `concurrency`, get operators of their own.
"""

from __future__ import annotations

from headgate.dataframe.planner.calls import separated
from headgate.dataframe.planner.logical import Relation
from headgate.dataframe.planner.rules import merged, ordered, pruned, pushed, timed


def optimized(plan: Relation) -> Relation:
    """Return the plan after all rules."""
    return separated(merged(ordered(pruned(merged(pushed(timed(merged(plan))))))))
