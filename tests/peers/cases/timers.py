# ruff: noqa
# mypy: ignore-errors
"""Time, timers and broadcast state. Run after `base.py`, in the same namespace."""


# --- time


def timed(env, records=PAIRS, strategy=None):
    strategy = strategy or common.WatermarkStrategy.for_monotonous_timestamps()
    pairs = env.from_collection(records, type_info=PAIR)
    return pairs.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(First()))


class Clock(datastream.ProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value[1]} at {ctx.timestamp()}, a clock {ctx.timer_service().current_processing_time() > 10**12}"


@case()
def timestamps_of_records(env):
    return timed(env).process(Clock(), Types.STRING())


class Watermarks(datastream.KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(100)
        yield "record"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp} {ctx.timer_service().current_watermark()}"


@case(sorts=True)
def the_last_watermark(env):
    return timed(env).key_by(lambda pair: pair[0], key_type=Types.STRING()).process(Watermarks(), Types.STRING())


@case(alone=True)
def timestamps_without_an_assigner(env):
    class Stamp(datastream.ProcessFunction):
        def process_element(self, value, ctx):
            yield str(ctx.timestamp())

    return env.from_collection([1], type_info=Types.INT()).process(Stamp(), Types.STRING())


class Deletes(datastream.KeyedProcessFunction):
    def process_element(self, value, ctx):
        for timestamp in (10, 20, 20, 30):
            ctx.timer_service().register_event_time_timer(timestamp)
        ctx.timer_service().delete_event_time_timer(10)
        return []

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp}"


@case(sorts=True, batches=True)
def timers_are_unique_and_deleted(env):
    return timed(env).key_by(lambda pair: pair[0], key_type=Types.STRING()).process(Deletes(), Types.STRING())


class Again(datastream.KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = a_value(runtime_context)

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(10)

    def on_timer(self, timestamp, ctx):
        self.count.update((self.count.value() or 0) + 1)
        if self.count.value() < 3:
            ctx.timer_service().register_event_time_timer(timestamp + 10)
        yield f"{ctx.get_current_key()} {timestamp} {self.count.value()}"


@case(sorts=True, batches=True)
def timers_that_register_timers(env):
    return timed(env).key_by(lambda pair: pair[0], key_type=Types.STRING()).process(Again(), Types.STRING())


class Aftermath(datastream.KeyedProcessFunction):
    def __init__(self, tag):
        self.tag = tag

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(10)

    def on_timer(self, timestamp, ctx):
        yield self.tag, (ctx.get_current_key(), timestamp)


@case(sorts=True)
def timers_with_a_side_output(env):
    tag = OutputTag("after", Types.TUPLE([Types.STRING(), Types.LONG()]))
    keyed = timed(env).key_by(lambda pair: pair[0], key_type=Types.STRING())
    return keyed.process(Aftermath(tag), Types.STRING()).get_side_output(tag)


@case(alone=True)
def timers_that_fail(env):
    class Fails(datastream.KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(10)

        def on_timer(self, timestamp, ctx):
            raise ValueError("late")

    return timed(env).key_by(lambda pair: pair[0]).process(Fails(), Types.STRING())


@case(alone=True)
def timers_without_a_key(env):
    class Unkeyed(datastream.ProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(10)
            yield value

    return timed(env).process(Unkeyed())


@case(sorts=True)
def the_first_watermark(env):
    class Past(datastream.KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield value[0]
            yield str(ctx.timer_service().current_watermark() < 0)

    return by_key(env).process(Past(), Types.STRING())


class CoTimers(datastream.KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(50)
        yield f"one {value[1]}"

    def process_element2(self, value, ctx):
        ctx.timer_service().register_event_time_timer(60)
        yield f"two {value[1]}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp}"


@case(sorts=True, batches=True)
def timers_of_connected_streams(env):
    key = lambda pair: pair[0]
    keyed = timed(env).connect(timed(env)).key_by(key, key, Types.STRING())
    return keyed.process(CoTimers(), Types.STRING())


class Timers(datastream.KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])
        yield f"at {ctx.timestamp()}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} fired {timestamp} {ctx.timestamp()} {ctx.time_domain().name}"


class First(watermark_strategy.TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


@case(sorts=True, batches=True)
def timers_of_event_time(env):
    strategy = common.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(First())
    timed = env.from_collection(PAIRS[:1] + PAIRS[2:3], type_info=PAIR).assign_timestamps_and_watermarks(strategy)
    return timed.key_by(lambda pair: pair[0], key_type=Types.STRING()).process(Timers(), output_type=Types.STRING())


def RULES():
    return state.MapStateDescriptor("rules", Types.INT(), Types.STRING())


class Ruled(datastream.BroadcastProcessFunction):
    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES()).put(value, f"rule {value}")

    def process_element(self, value, ctx):
        yield f"{value} {ctx.get_broadcast_state(RULES()).contains(7)}"[:1]


@case(sorts=True)
def broadcast_state(env):
    rules = env.from_collection([7], type_info=Types.INT()).broadcast(RULES())
    numbers = env.from_collection([1, 2], type_info=Types.INT())
    return numbers.connect(rules).process(Ruled(), output_type=Types.STRING())


# --- broadcast


class KeyedRules(datastream.KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.count = a_value(runtime_context)

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        known = ctx.get_broadcast_state(RULES())
        yield f"{ctx.get_current_key()} {self.count.value()} {known.get(99)} {known.contains(99)}"

    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES())
        rules.put(value, f"rule {value}")
        rules[value + 1] = "next"
        rules.remove(value + 1)
        yield f"{sorted(rules.items())} {sorted(rules.keys())} {rules.is_empty()} {rules.get(value)}"


@case(sorts=True)
def broadcast_to_keyed(env):
    rules = env.from_collection([7, 8], type_info=Types.INT()).broadcast(RULES())
    return by_key(env).connect(rules).process(KeyedRules(), Types.STRING())


@case(alone=True)
def broadcast_state_is_read_only(env):
    class Writes(datastream.BroadcastProcessFunction):
        def process_broadcast_element(self, value, ctx):
            pass

        def process_element(self, value, ctx):
            ctx.get_broadcast_state(RULES()).put(1, "a")
            yield "written"

    rules = env.from_collection([7], type_info=Types.INT()).broadcast(RULES())
    return env.from_collection([1]).connect(rules).process(Writes(), Types.STRING())


@case(alone=True)
def broadcast_state_of_another_name(env):
    class Reads(datastream.BroadcastProcessFunction):
        def process_broadcast_element(self, value, ctx):
            pass

        def process_element(self, value, ctx):
            other = state.MapStateDescriptor("other", Types.INT(), Types.STRING())
            yield str(ctx.get_broadcast_state(other).is_empty())

    rules = env.from_collection([7], type_info=Types.INT()).broadcast(RULES())
    return env.from_collection([1]).connect(rules).process(Reads(), Types.STRING())
