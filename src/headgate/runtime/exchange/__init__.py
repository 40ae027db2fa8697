"""The exchange of a slot: how elements reach channels that end in other slots.

`network` sends them over connections, `memory` between slots of one process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.graph.placement import Addresses, ChannelPlan
from headgate.ids import Attempt, ChannelId, SlotIndex


class Exchange(Protocol):
    """Carries elements between slots, attempt by attempt. Owned by the slot's loop; no method blocks."""

    def listen(self, attempt: Attempt, inputs: Mapping[ChannelId, InputChannel]) -> None:
        """Take elements of `attempt` for these channels from now on, and of no other attempt."""
        ...

    def connect(self, attempt: Attempt, peers: Addresses) -> None:
        """Open the way to the peers, all of which listen. A peer that is lost later fails the slot's attempt."""
        ...

    def output(self, channel: ChannelPlan, target: SlotIndex) -> OvertakableChannel:
        """Return the sending end of a channel into slot `target`, usable once `connect` was called."""
        ...

    def end(self) -> None:
        """Let go of everything of the attempt."""
        ...
