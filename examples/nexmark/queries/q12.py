"""Processing time windows: how many bids a person makes in ten seconds of the clock."""

from __future__ import annotations

from typing import Any

from headgate.common import Time
from headgate.datastream import DataStream
from headgate.datastream.window import TimeWindow, Trigger, TriggerResult, TumblingProcessingTimeWindows
from queries.counting import Count, WithWindow
from streams import Events

END = 2**63 - 1  # event time when the input has ended


class AtLast(Trigger[Any, TimeWindow]):
    """Fires at the end of the window, and of the input: else windows that the clock has not closed would be lost."""

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        ctx.register_event_time_timer(END)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        raise NotImplementedError("tumbling windows do not merge")

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())
        ctx.delete_event_time_timer(END)


def query(events: Events) -> DataStream:
    by_bidder = events.bids().map(lambda bid: bid.bidder).key_by(lambda bidder: bidder)
    windows = by_bidder.window(TumblingProcessingTimeWindows.of(Time.seconds(10)))
    return windows.trigger(AtLast()).aggregate(Count(), WithWindow())
