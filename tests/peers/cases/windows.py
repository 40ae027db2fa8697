# ruff: noqa
# mypy: ignore-errors
"""Windows. Run after `base.py`, in the same namespace.

PyFlink has no end where there are windows in batch mode, so that there is one such case only.
"""

window = importlib.import_module(f"{ROOT}.datastream.window")
functions = importlib.import_module(f"{ROOT}.datastream.functions")

CLICKS = [
    ("a", 1, 1_000),
    ("b", 2, 2_000),
    ("a", 3, 4_000),
    ("a", 4, 11_000),
    ("b", 5, 12_000),
    ("b", 6, 13_500),
    ("a", 7, 31_000),
]
CLICK = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
COUNTED = Types.TUPLE([Types.STRING(), Types.STRING(), Types.INT()])
TEN = window.TumblingEventTimeWindows.of(Time.seconds(10))


class TimeOfClick(watermark_strategy.TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


def clicks(env, records=CLICKS):
    in_order = common.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfClick())
    return env.from_collection(records, type_info=CLICK).assign_timestamps_and_watermarks(in_order)


def by_user(env, records=CLICKS):
    return clicks(env, records).key_by(lambda click: click[0], key_type=Types.STRING())


def added(one, other):
    return one[0], one[1] + other[1], other[2]


class Sizes(functions.ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, str(context.window()), len(list(elements))

    def clear(self, context):
        pass


class Numbers(functions.WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, str(window), sum(each[1] for each in inputs))]


class AllSizes(functions.ProcessAllWindowFunction):
    def process(self, context, elements):
        yield "all", str(context.window()), len(list(elements))

    def clear(self, context):
        pass


class AllNumbers(functions.AllWindowFunction):
    def apply(self, window, inputs):
        return [("all", str(window), sum(each[1] for each in inputs))]


class MeanNumber(functions.AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class MeanNumbers(functions.ProcessWindowFunction):
    def process(self, key, context, elements):
        for mean in elements:
            yield key, str(context.window()), int(mean)

    def clear(self, context):
        pass


ASSIGNERS = {
    "tumbling": TEN,
    "tumbling with an offset": window.TumblingEventTimeWindows.of(Time.seconds(10), Time.seconds(3)),
    "tumbling with an offset below 0": window.TumblingEventTimeWindows.of(Time.seconds(10), Time.seconds(-3)),
    "sliding": window.SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)),
    "sliding by what does not divide": window.SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(4)),
    "sliding with gaps": window.SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(5)),
    "sliding with an offset": window.SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5), Time.seconds(2)),
    "sessions": window.EventTimeSessionWindows.with_gap(Time.seconds(5)),
    "sessions of 7 s": window.EventTimeSessionWindows.with_gap(Time.seconds(7)),
}

for known_as, assigner in ASSIGNERS.items():

    @case(sorts=True, name=f"windows, {known_as}: process")
    def process_windows(env, assigner=assigner):
        return by_user(env).window(assigner).process(Sizes(), COUNTED)

    @case(sorts=True, name=f"windows, {known_as}: apply")
    def apply_windows(env, assigner=assigner):
        return by_user(env).window(assigner).apply(Numbers(), COUNTED)

    @case(sorts=True, batches=known_as == "tumbling", name=f"windows, {known_as}: reduce")
    def reduce_windows(env, assigner=assigner):
        return by_user(env).window(assigner).reduce(added)

    @case(sorts=True, name=f"windows, {known_as}: aggregate")
    def aggregate_windows(env, assigner=assigner):
        return by_user(env).window(assigner).aggregate(MeanNumber(), MeanNumbers(), output_type=COUNTED)


@case(sorts=True)
def window_of_an_aggregate_alone(env):
    return by_user(env).window(TEN).aggregate(MeanNumber(), output_type=Types.DOUBLE())


@case(sorts=True)
def window_of_an_aggregate_with_an_accumulator_type(env):
    accumulator = Types.TUPLE([Types.INT(), Types.INT()])
    return by_user(env).window(TEN).aggregate(MeanNumber(), accumulator_type=accumulator, output_type=Types.DOUBLE())


@case(sorts=True)
def window_of_a_reduce_and_a_function(env):
    return by_user(env).window(TEN).reduce(added, window_function=Numbers(), output_type=COUNTED)


@case(sorts=True)
def window_all_process(env):
    return clicks(env).window_all(TEN).process(AllSizes(), COUNTED)


@case(sorts=True)
def window_all_apply(env):
    return clicks(env).window_all(TEN).apply(AllNumbers(), COUNTED)


@case(sorts=True)
def window_all_reduce(env):
    return clicks(env).window_all(TEN).reduce(added)


@case(sorts=True)
def window_all_sessions(env):
    return clicks(env).window_all(ASSIGNERS["sessions"]).aggregate(MeanNumber(), output_type=Types.DOUBLE())


@case(sorts=True)
def count_windows_of_two(env):
    return by_user(env).count_window(2).process(Sizes(), COUNTED)


@case(sorts=True)
def count_windows_that_slide(env):
    return by_user(env).count_window(3, 1).apply(Numbers(), COUNTED)


@case(sorts=True)
def count_windows_that_leave_some_out(env):
    return by_user(env).count_window(1, 2).apply(Numbers(), COUNTED)


@case(sorts=True)
def a_global_window_that_fires_by_count(env):
    windows = by_user(env).window(window.GlobalWindows.create()).trigger(window.CountTrigger.of(2))
    return windows.process(Sizes(), COUNTED)


@case(sorts=True)
def a_global_window_that_purges_by_count(env):
    by_count = window.PurgingTrigger.of(window.CountTrigger.of(2))
    return by_user(env).window(window.GlobalWindows.create()).trigger(by_count).apply(Numbers(), COUNTED)


@case(sorts=True)
def a_global_window_that_never_fires(env):
    return by_user(env).window(window.GlobalWindows.create()).process(Sizes(), COUNTED)


@case(sorts=True)
def a_window_with_early_results(env):
    early = window.ContinuousEventTimeTrigger.of(Time.seconds(4))
    return by_user(env).window(TEN).trigger(early).process(Sizes(), COUNTED)


@case(sorts=True)
def a_window_that_fires_by_count_alone(env):
    return by_user(env).window(TEN).trigger(window.CountTrigger.of(2)).process(Sizes(), COUNTED)


@case(sorts=True)
def sessions_that_fire_by_count(env):
    return by_user(env).window(ASSIGNERS["sessions"]).trigger(window.CountTrigger.of(2)).process(Sizes(), COUNTED)


class GapOfClick(window.SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[1] * 1_000


@case(sorts=True)
def sessions_with_a_gap_of_each_record(env):
    by_record = window.EventTimeSessionWindows.with_dynamic_gap(GapOfClick())
    return by_user(env).window(by_record).process(Sizes(), COUNTED)


class Often(functions.ProcessWindowFunction):
    def open(self, runtime_context):
        self.seen = state.ValueStateDescriptor("seen", Types.INT())
        self.windows = state.ValueStateDescriptor("windows", Types.INT())

    def process(self, key, context, elements):
        seen = context.window_state().get_state(self.seen)
        windows = context.global_state().get_state(self.windows)
        seen.update((seen.value() or 0) + 1)
        windows.update((windows.value() or 0) + 1)
        yield key, f"{seen.value()} {windows.value()}", len(list(elements))

    def clear(self, context):
        context.window_state().get_state(self.seen).clear()


@case(sorts=True)
def state_of_windows_and_of_keys(env):
    return by_user(env).window(TEN).trigger(window.CountTrigger.of(1)).process(Often(), COUNTED)


class Nearby(window.WindowAssigner):
    """The ten seconds around each full ten seconds."""

    def assign_windows(self, element, timestamp, context):
        start = (timestamp + 5_000) // 10_000 * 10_000 - 5_000
        return [window.TimeWindow(start, start + 10_000)]

    def get_default_trigger(self, env):
        return window.EventTimeTrigger.create()

    def get_window_serializer(self):
        return window.TimeWindowSerializer()

    def is_event_time(self):
        return True


@case(sorts=True)
def windows_of_an_assigner_of_the_program(env):
    return by_user(env).window(Nearby()).process(Sizes(), COUNTED)


class AtEven(window.Trigger):
    """Fires at even numbers, and at the end."""

    def on_element(self, element, timestamp, window_, ctx):
        ctx.register_event_time_timer(window_.max_timestamp())
        return window.TriggerResult.FIRE_AND_PURGE if element[1] % 2 == 0 else window.TriggerResult.CONTINUE

    def on_processing_time(self, time, window_, ctx):
        return window.TriggerResult.CONTINUE

    def on_event_time(self, time, window_, ctx):
        return window.TriggerResult.FIRE

    def on_merge(self, window_, ctx):
        pass

    def clear(self, window_, ctx):
        ctx.delete_event_time_timer(window_.max_timestamp())


@case(sorts=True)
def windows_of_a_trigger_of_the_program(env):
    return by_user(env).window(TEN).trigger(AtEven()).process(Sizes(), COUNTED)


class Stamped(datastream.ProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value[0]} {value[1]} at {ctx.timestamp()}"


@case(sorts=True)
def timestamps_of_results_of_windows(env):
    return by_user(env).window(TEN).process(Sizes(), COUNTED).process(Stamped(), Types.STRING())


@case(sorts=True)
def timestamps_of_results_of_count_windows(env):
    return by_user(env).count_window(2).process(Sizes(), COUNTED).process(Stamped(), Types.STRING())


@case(sorts=True)
def windows_of_windows(env):
    sums = by_user(env).window(TEN).reduce(added)
    return sums.key_by(lambda click: 1).window(TEN).reduce(lambda one, other: ("both", one[1] + other[1], 0))


@case(alone=True)
def windows_of_records_without_timestamps(env):
    clicks = env.from_collection(CLICKS, type_info=CLICK).key_by(lambda click: click[0], key_type=Types.STRING())
    return clicks.window(TEN).process(Sizes(), COUNTED)


@case(alone=True)
def a_window_function_that_fails(env):
    class Fails(functions.WindowFunction):
        def apply(self, key, window, inputs):
            raise ValueError("bad window")

    return by_user(env).window(TEN).apply(Fails(), COUNTED)


@case(alone=True)
def parts_of_windows(env):
    one, other = window.TimeWindow(0, 10), window.TimeWindow(10, 20)
    return [
        one.max_timestamp(),
        one.intersects(other),
        one.cover(other),
        one == window.TimeWindow(0, 10),
        one < other,
        window.CountWindow(3),
        window.CountWindow(3).max_timestamp(),
        window.GlobalWindow.get(),
        window.TriggerResult.FIRE_AND_PURGE.is_fire(),
        window.TriggerResult.PURGE.is_fire(),
        window.TimeWindow.get_window_start_with_offset(17, 3, 10),
        window.TimeWindow.get_window_start_with_offset(-17, 3, 10),
        str(TEN),
        str(ASSIGNERS["sliding"]),
        str(ASSIGNERS["sessions"]),
    ]
