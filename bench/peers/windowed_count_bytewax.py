"""A program for Bytewax: counts records by key in tumbling windows of event time, and prints how many a second.

Its argument is JSON: `keys`, `records_per_ms`, `window_ms` and `records`. They lie ready in memory. It
runs over few of them and over all; the rate is of the difference, so that the start does not count.
"""

import json
import random
import sys
import time
from datetime import UTC, datetime, timedelta

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

START = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 1_000


class Batches(StatelessSourcePartition):
    def __init__(self, records):
        self._batches = iter([records[first : first + BATCH] for first in range(0, len(records), BATCH)])

    def next_batch(self):
        return next(self._batches)  # its StopIteration ends the input


class Ready(DynamicSource):
    """Records that lie ready in memory."""

    def __init__(self, records):
        self._records = records

    def build(self, step_id, worker_index, worker_count):
        return Batches(self._records)


class Dropped(StatelessSinkPartition):
    def write_batch(self, items):
        pass


class Discard(DynamicSink):
    def build(self, step_id, worker_index, worker_count):
        return Dropped()


def records_of(given):
    pick, per_ms = random.Random(1).randrange, given["records_per_ms"]
    times = [START + timedelta(milliseconds=at) for at in range(given["records"] // per_ms + 1)]
    return [(str(pick(given["keys"])), times[number // per_ms]) for number in range(given["records"])]


def key_of(record):
    return record[0]


def time_of(record):
    return record[1]


def seconds(given, records):
    """Run over the records; return how long that took."""
    flow = Dataflow("windowed_count")
    clock = win.EventClock(time_of, wait_for_system_duration=timedelta(0))
    windows = win.TumblingWindower(length=timedelta(milliseconds=given["window_ms"]), align_to=START)
    counts = win.count_window("count", op.input("records", flow, Ready(records)), clock, windows, key_of)
    op.output("discard", counts.down, Discard())
    began_s = time.monotonic()
    run_main(flow)
    return time.monotonic() - began_s


def main(given):
    records = records_of(given)
    few = len(records) // 50
    few_s, all_s = seconds(given, records[:few]), seconds(given, records)
    print(json.dumps({"rate": (len(records) - few) / (all_s - few_s)}))


if __name__ == "__main__":
    main(json.loads(sys.argv.pop()))
