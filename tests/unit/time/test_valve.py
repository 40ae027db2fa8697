"""The watermark valve: whom it waits for, and whom not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark, WatermarkStatus
from headgate.time.valve import InputsValve, Progress, StatusWatermarkValve

IDLE = WatermarkStatus(idle=True)
ACTIVE = WatermarkStatus(idle=False)
END = Watermark(MAX_TIMESTAMP)


def drive(valve: StatusWatermarkValve, *events: tuple[int, int | bool]) -> list[Progress]:
    """What comes out: of (channel, watermark) or (channel, whether it is idle)."""
    out: list[Progress] = []
    for channel, event in events:
        out += valve.status(channel, idle=event) if isinstance(event, bool) else valve.watermark(channel, event)
    return out


def test_nothing_is_known_before_every_channel_has_told() -> None:
    assert drive(StatusWatermarkValve(3), (0, 5), (1, 6)) == []


def test_event_time_is_the_least_of_all_channels_and_never_falls() -> None:
    assert drive(StatusWatermarkValve(2), (0, 5), (1, 3), (1, 2), (1, 9), (0, 4), (0, 7)) == [
        Watermark(3),
        Watermark(5),
        Watermark(7),
    ]


def test_an_idle_channel_is_not_waited_for() -> None:
    assert drive(StatusWatermarkValve(2), (0, 5), (1, True), (0, 6)) == [Watermark(5), Watermark(6)]


def test_a_watermark_on_an_idle_channel_is_ignored() -> None:
    assert drive(StatusWatermarkValve(2), (1, True), (1, 3), (1, False), (0, 5)) == []


def test_when_the_last_active_channel_that_held_back_goes_idle_the_greatest_watermark_holds() -> None:
    assert drive(StatusWatermarkValve(3), (0, 5), (1, 9), (2, 7), (1, True), (2, True), (0, True)) == [
        Watermark(5),
        Watermark(9),
        IDLE,
    ]


def test_a_channel_that_did_not_hold_back_does_not_flush_when_it_goes_idle_last() -> None:
    valve = StatusWatermarkValve(2)
    assert drive(valve, (0, 5), (1, 3), (1, True), (1, False), (0, True)) == [Watermark(3), Watermark(5)]
    assert drive(valve, (1, True)) == [IDLE]


def test_a_channel_that_comes_back_late_neither_holds_back_nor_advances_until_it_has_come_up() -> None:
    valve = StatusWatermarkValve(2)
    assert drive(valve, (0, 5), (1, 1), (1, True), (0, 8)) == [Watermark(1), Watermark(5), Watermark(8)]
    assert drive(valve, (1, False), (1, 4), (0, 10), (1, 7), (0, 11)) == [Watermark(10), Watermark(11)]
    assert drive(valve, (1, 11), (0, 20), (1, 12)) == [Watermark(12)]


def test_the_only_channel_that_has_come_up_advances_though_it_is_ahead_of_all() -> None:
    valve = StatusWatermarkValve(3)
    assert drive(valve, (0, 3), (1, 10), (2, 5), (0, True)) == [Watermark(3), Watermark(5)]
    assert drive(valve, (1, True), (0, False), (2, True), (1, False)) == []
    assert drive(valve, (1, 12)) == [Watermark(12)]


def test_a_watermark_that_is_still_behind_lets_event_time_come_up_to_the_channels_that_are_not() -> None:
    valve = StatusWatermarkValve(3)
    assert drive(valve, (1, True), (2, 12), (2, True), (0, 7), (1, False), (0, True), (2, False)) == [Watermark(7)]
    assert drive(valve, (1, 1)) == [Watermark(12)]


def test_the_first_channel_that_comes_back_makes_the_whole_active() -> None:
    assert drive(StatusWatermarkValve(2), (0, True), (1, True), (1, False), (0, False)) == [IDLE, ACTIVE]


def test_the_end_of_one_channel_is_not_the_end_while_another_is_only_idle() -> None:
    valve = StatusWatermarkValve(2)
    assert drive(valve, (0, 5), (1, 3), (1, True), (0, MAX_TIMESTAMP)) == [Watermark(3), Watermark(5), IDLE]
    assert drive(valve, (1, False), (1, 6)) == [ACTIVE, Watermark(6)]
    assert drive(valve, (1, MAX_TIMESTAMP)) == [END]


def test_a_channel_that_ends_while_it_is_idle_has_ended() -> None:
    assert drive(StatusWatermarkValve(1), (0, True), (0, MAX_TIMESTAMP), (0, False)) == [IDLE, ACTIVE, END]


# --- against the rules written down step by step


@dataclass
class Channel:
    mark: int = MIN_TIMESTAMP
    idle: bool = False
    aligned: bool = True


class Model:
    """The rules, with no thought of cost."""

    def __init__(self, channels: int) -> None:
        self.channels = [Channel() for _ in range(channels)]
        self.last = MIN_TIMESTAMP
        self.idle = False

    def watermark(self, index: int, timestamp_ms: int) -> list[Progress]:
        channel = self.channels[index]
        if self.idle or channel.idle or timestamp_ms <= channel.mark:
            return []
        channel.mark = timestamp_ms
        channel.aligned = channel.aligned or timestamp_ms >= self.last
        return self.least()

    def status(self, index: int, idle: bool) -> list[Progress]:
        channel = self.channels[index]
        if channel.idle == idle:
            return []
        channel.idle = idle
        if not idle:
            channel.aligned = channel.mark >= self.last
            out: list[Progress] = [ACTIVE] if self.idle else []
            self.idle = False
            return out
        channel.aligned = False
        if not all(each.idle for each in self.channels):
            return self.least() if channel.mark == self.last else []
        out = self.rise(max(each.mark for each in self.channels)) if channel.mark == self.last else []
        self.idle = True
        return [*out, IDLE]

    def least(self) -> list[Progress]:
        return self.rise(min((each.mark for each in self.channels if each.aligned), default=MIN_TIMESTAMP))

    def rise(self, timestamp_ms: int) -> list[Progress]:
        if timestamp_ms <= self.last:
            return []
        self.last = timestamp_ms
        return [Watermark(timestamp_ms)]


EVENTS = st.lists(st.tuples(st.integers(0, 3), st.one_of(st.integers(0, 12), st.booleans())), max_size=40)


@given(st.integers(1, 4), EVENTS)
def test_the_valve_does_what_the_rules_say(channels: int, events: list[tuple[int, int | bool]]) -> None:
    valve, model = StatusWatermarkValve(channels), Model(channels)
    for number, event in events:
        channel = number % channels
        if isinstance(event, bool):
            assert valve.status(channel, idle=event) == model.status(channel, event)
        else:
            assert valve.watermark(channel, event) == model.watermark(channel, event)


@given(st.integers(1, 4), EVENTS)
def test_whatever_came_before_the_end_of_all_channels_is_the_end(
    channels: int, events: list[tuple[int, int | bool]]
) -> None:
    valve = StatusWatermarkValve(channels)
    drive(valve, *[(number % channels, event) for number, event in events])
    out = drive(valve, *[(channel, MAX_TIMESTAMP) for channel in range(channels)])
    assert out[-1] == END
    assert out.count(END) == 1


# --- two inputs


def take(valve: InputsValve, *events: tuple[int, int | bool]) -> list[Progress]:
    return [
        follows
        for channel, event in events
        for follows in valve.take(channel, WatermarkStatus(event) if isinstance(event, bool) else Watermark(event))
    ]


def test_with_two_inputs_event_time_is_the_least_of_both() -> None:
    assert take(InputsValve([0, 1, 0]), (0, 5), (1, 3), (2, 4), (1, 9), (0, 7)) == [Watermark(3), Watermark(4)]


def test_an_idle_input_is_not_waited_for_but_holds_event_time_when_it_comes_back_behind() -> None:
    valve = InputsValve([0, 1])
    assert take(valve, (0, 5), (1, True), (0, 6)) == [Watermark(5), Watermark(6)]
    assert take(valve, (1, False), (1, 3), (0, 9), (1, 7)) == [Watermark(7)]


def test_both_inputs_idle_is_idle() -> None:
    valve = InputsValve([0, 1])
    assert take(valve, (0, 5), (1, 2), (0, True), (1, True)) == [Watermark(2), Watermark(5), IDLE]
    assert take(valve, (0, False), (0, 6)) == [ACTIVE, Watermark(6)]


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 0)])
def test_when_both_inputs_are_idle_event_time_is_at_the_greatest_whichever_went_idle_first(
    first: int, last: int
) -> None:
    valve = InputsValve([0, 1])
    assert take(valve, (0, 5), (1, 4), (first, True), (last, True)) == [Watermark(4), Watermark(5), IDLE]


def test_an_idle_input_raises_event_time_to_what_an_ended_input_had_reached() -> None:
    valve = InputsValve([0, 1])
    assert take(valve, (0, 5), (1, 2), (1, True), (0, MAX_TIMESTAMP)) == [Watermark(2), Watermark(5), IDLE]


@dataclass
class Input:
    mark: int = MIN_TIMESTAMP
    idle: bool = False


@given(st.lists(st.tuples(st.integers(0, 2), st.one_of(st.integers(0, 12), st.booleans())), max_size=40))
def test_event_time_of_three_inputs_follows_the_least_active_one_or_the_greatest_of_all(
    events: list[tuple[int, int | bool]],
) -> None:
    valve, inputs, last, idle = InputsValve([0, 1, 2]), [Input() for _ in range(3)], MIN_TIMESTAMP, False
    for channel, event in events:
        each = inputs[channel]
        if isinstance(event, bool):
            each.idle = event
        elif not each.idle:
            each.mark = max(each.mark, event)
        marks = [each.mark for each in inputs if not each.idle] or [max(each.mark for each in inputs)]
        was_idle, idle = idle, all(each.idle for each in inputs)
        expected: list[Progress] = [ACTIVE] if was_idle and not idle else []
        if min(marks) > last:
            last = min(marks)
            expected.append(Watermark(last))
        assert take(valve, (channel, event)) == expected + ([IDLE] if idle and not was_idle else [])


def test_event_time_ends_when_both_inputs_have_ended() -> None:
    valve = InputsValve([0, 1])
    assert take(valve, (0, MAX_TIMESTAMP), (1, 4), (1, MAX_TIMESTAMP)) == [Watermark(4), END]


def test_an_input_that_ended_beside_an_idle_one_is_idle_too() -> None:
    valve = InputsValve([0, 1])
    assert take(valve, (1, True), (0, MAX_TIMESTAMP)) == [IDLE]
    assert take(valve, (1, False), (1, 4), (1, MAX_TIMESTAMP)) == [ACTIVE, Watermark(4), END]


def test_the_watermark_of_each_input_is_known_where_there_are_two() -> None:
    valve = InputsValve([0, 0, 1])
    assert valve.marks == (None, None)
    valve.take(0, Watermark(5))
    assert valve.marks == (None, None)
    take(valve, (1, 7), (2, 3))
    assert [*valve.marks] == [5, 3]
    assert InputsValve([0, 0]).marks == ()
