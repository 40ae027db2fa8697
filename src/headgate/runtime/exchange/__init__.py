"""The exchange of a slot: how elements reach channels that end in other slots.

`network` sends them over connections, `memory` between slots of one process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.elements import WriteTyped
from headgate.graph.placement import Addresses, ChannelPlan
from headgate.ids import Attempt, ChannelId, SlotIndex


class Exchange(Protocol):
    """Carries elements between slots, for one attempt at a time. Owned by the slot's loop; no method blocks."""

    def listen(self, attempt: Attempt, inputs: Mapping[ChannelId, InputChannel]) -> None:
        """Accept elements of `attempt`, and of no other attempt, for these channels."""
        ...

    def connect(self, attempt: Attempt, peers: Addresses) -> None:
        """Connect to the peers, all of which listen. The loss of a peer fails the slot's attempt."""
        ...

    def output(self, channel: ChannelPlan, target: SlotIndex, write: WriteTyped | None = None) -> OvertakableChannel:
        """Return the sending end of a channel into slot `target`, usable once `connect` was called.

        `write` writes the typed form of batches; None: all batches are pickled.
        """
        ...

    def end(self) -> None:
        """End the attempt: drop its channels and connections."""
        ...
