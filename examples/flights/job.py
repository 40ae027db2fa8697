"""Flights that keep leaving late: the job of the demo.

For each aircraft: the running mean of its departure delays, and how many departures in a row were over an hour late.
The third in a row raises an alert.
"""

from __future__ import annotations

from collections.abc import Iterator

from headgate.common import Row, Types
from headgate.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from headgate.datastream.state import ValueStateDescriptor

LATE_MINUTES = 60
ALERT_AT = 3

ALERT = Types.ROW_NAMED(
    ["tailnum", "day", "carrier", "flight", "delay", "departures", "mean_delay"],
    [Types.STRING(), Types.STRING(), Types.STRING(), Types.INT(), Types.INT(), Types.INT(), Types.DOUBLE()],
)
Alert = Row("tailnum", "day", "carrier", "flight", "delay", "departures", "mean_delay")


class LateInARow(KeyedProcessFunction):
    """Keeps the delays of one aircraft at a time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.delays = runtime_context.get_state(ValueStateDescriptor("delays", Types.TUPLE([Types.INT(), Types.INT()])))
        self.streak = runtime_context.get_state(ValueStateDescriptor("streak", Types.INT()))

    def process_element(self, flight: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        departures, minutes = self.delays.value() or (0, 0)
        departures, minutes = departures + 1, minutes + flight.dep_delay
        self.delays.update((departures, minutes))

        if flight.dep_delay <= LATE_MINUTES:
            self.streak.clear()
            return
        streak = (self.streak.value() or 0) + 1
        self.streak.update(streak)
        if streak == ALERT_AT:
            yield Alert(
                ctx.get_current_key(),
                flight.day,
                flight.carrier,
                flight.flight,
                flight.dep_delay,
                departures,
                minutes / departures,
            )


def alerts(flights: DataStream) -> DataStream:
    """Return the alerts for a stream of flights in the order of their departure."""
    return flights.key_by(lambda flight: flight.tailnum).process(LateInARow(), output_type=ALERT)
