"""Broadcast state: written for broadcast elements, read for records, the same in every subtask."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from headgate.elements import MIN_TIMESTAMP
from headgate.errors import ProgramError, StateAccessError
from headgate.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from headgate.functions.context import RuntimeContext, TimeDomain
from headgate.operators.base import UserCodeError
from headgate.operators.failure import failure_of
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types
from tests.unit.operators.functions import time_of

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
NAMES = MapStateDescriptor("names", Types.STRING(), Types.STRING())
COUNT = ValueStateDescriptor("count", Types.LONG())
SEEN = OutputTag("seen")


class Pricing(BroadcastProcessFunction[Any, Any, Any]):
    """Broadcast elements are `(name, price)`, price 0 takes one back; records are names."""

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        yield value, ctx.get_broadcast_state(RULES).get(value), time_of(ctx)

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Any:
        rules = ctx.get_broadcast_state(RULES)
        if value[1]:
            rules.put(*value)
        else:
            rules.remove(value[0])
        yield SEEN, value


def key_of(value: Any) -> Any:
    return value[0]


class Limits(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Counts records of a key up to a limit that is broadcast; the element "all" asks for every count."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(value[1])
        limit = ctx.get_broadcast_state(RULES).get("limit", 99)
        if count > limit:
            yield ctx.get_current_key(), count

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Any:
        if value == "all":
            yield from ctx.apply_to_keyed_state(COUNT, lambda key, state: [(key, state.value())])
        elif value == "reset":
            ctx.apply_to_keyed_state(COUNT, lambda key, state: state.clear())
        else:
            ctx.get_broadcast_state(RULES).put("limit", value)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[Any]:
        limit = ctx.get_broadcast_state(RULES).get("limit")
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield ctx.get_current_key(), timestamp, self.count.value(), limit, ctx.current_watermark()


def pricing(**options: Any) -> OperatorHarness:
    return OperatorHarness.of(Pricing(), broadcast=[RULES], **options)


def limits(**options: Any) -> OperatorHarness:
    return OperatorHarness.of(Limits(), broadcast=[RULES], key_by=key_of, **options)


def cause_of(harness: OperatorHarness, *, second: Any = None, first: Any = None) -> BaseException | None:
    with harness, pytest.raises(UserCodeError) as caught:
        harness.process(first) if second is None else harness.process_second(second)
    return caught.value.__cause__


# --- on a stream without keys


def test_records_see_what_was_broadcast_before_them() -> None:
    with pricing() as harness:
        assert harness.process("tea", timestamp_ms=5) == [("tea", None, 5)]
        assert harness.process_second(("tea", 3), ("ink", 8)) == []
        assert harness.process("tea", "ink") == [("tea", 3, None), ("ink", 8, None)]
        harness.process_second(("tea", 4), ("ink", 0))
        assert harness.process("tea", "ink") == [("tea", 4, None), ("ink", None, None)]
        assert harness.side(SEEN) == [("tea", 3), ("ink", 8), ("tea", 4), ("ink", 0)]


@pytest.mark.parametrize(
    "write",
    [
        lambda state: state.put("tea", 1),
        lambda state: state.put_all({"tea": 1}),
        lambda state: state.remove("tea"),
        lambda state: state.clear(),
        lambda state: state.__setitem__("tea", 1),
    ],
)
def test_records_cannot_write(write: Any) -> None:
    class Writing(Pricing):
        def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
            write(ctx.get_broadcast_state(RULES))
            return []

    cause = cause_of(OperatorHarness.of(Writing(), broadcast=[RULES]), first="tea")
    assert isinstance(cause, StateAccessError)
    assert "write it in process_broadcast_element()" in str(cause)


def test_several_states_are_told_apart_by_their_descriptors() -> None:
    class Two(Pricing):
        def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
            rules, names = ctx.get_broadcast_state(RULES), ctx.get_broadcast_state(NAMES)
            yield dict(rules.items()), dict(names.items())

        def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
            ctx.get_broadcast_state(NAMES if isinstance(value[1], str) else RULES).put(*value)

    with OperatorHarness.of(Two(), broadcast=[RULES, NAMES]) as harness:
        harness.process_second(("a", 1), ("a", "x"))
        assert harness.process(None) == [({"a": 1}, {"a": "x"})]


class Asking(Pricing):
    """Asks for a state by a descriptor of its own."""

    def __init__(self, descriptor: Any) -> None:
        self.descriptor = descriptor

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        yield ctx.get_broadcast_state(self.descriptor).get(value)

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(self.descriptor).put(*value)


def test_an_equal_descriptor_gives_the_same_state() -> None:
    with OperatorHarness.of(
        Asking(MapStateDescriptor("rules", Types.STRING(), Types.LONG())), broadcast=[RULES]
    ) as harness:
        harness.process_second(("tea", 3))
        assert harness.process("tea", "tea") == [3, 3]


@pytest.mark.parametrize("side", [{"first": "tea"}, {"second": ("tea", 1)}])
def test_an_unknown_state_is_an_error_that_names_the_known_ones(side: dict[str, Any]) -> None:
    misspelt = MapStateDescriptor("rulez", Types.STRING(), Types.LONG())
    cause = cause_of(OperatorHarness.of(Asking(misspelt), broadcast=[RULES, NAMES]), **side)
    assert isinstance(cause, StateAccessError)
    assert "rulez" in str(cause)
    assert "'rules', 'names'" in str(cause)


@pytest.mark.parametrize(
    "descriptor",
    [MapStateDescriptor("rules", Types.STRING(), Types.STRING()), ListStateDescriptor("rules", Types.LONG())],
)
def test_a_state_of_another_type_is_refused(descriptor: Any) -> None:
    cause = cause_of(OperatorHarness.of(Asking(descriptor), broadcast=[RULES]), first="tea")
    assert isinstance(cause, ProgramError)


def test_functions_are_told_the_times_of_both_sides() -> None:
    class Telling(Pricing):
        def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
            yield ctx.current_watermark(), ctx.current_processing_time(), time_of(ctx)

        def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Any:
            yield ctx.current_watermark(), ctx.current_processing_time(), time_of(ctx)

    with OperatorHarness.of(Telling(), broadcast=[RULES]) as harness:
        assert harness.process("a") == [(MIN_TIMESTAMP, 0, None)]
        harness.watermark(20)
        harness.advance_time(30)
        assert harness.process("a", timestamp_ms=25) == [(20, 30, 25)]
        assert harness.process_second("a", timestamp_ms=26) == [(20, 30, 26)]


@pytest.mark.parametrize("side", [{"first": ("a", 1)}, {"second": ("a", 1)}])
@pytest.mark.parametrize("keyed", [False, True])
def test_timers_are_only_for_records_of_a_keyed_stream(keyed: bool, side: dict[str, Any]) -> None:
    class Setting(Pricing):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.timer_service().register_event_time_timer(5)
            return []

        process_broadcast_element = process_element

    class KeyedSetting(Limits):
        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(5)

    harness = OperatorHarness.of(
        KeyedSetting() if keyed else Setting(), broadcast=[RULES], key_by=key_of if keyed else None
    )
    if keyed and "first" in side:
        with harness:
            harness.process(side["first"])
            assert harness.watermark(5) == [("a", 1, 1, None, 5)]
    else:
        assert isinstance(cause_of(harness, **side), StateAccessError)


# --- checkpoints


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 3), (3, 2)])
def test_every_restored_subtask_has_a_copy(before: int, after: int) -> None:
    saved: list[SavedOperator] = []
    for subtask, order in zip(
        range(before), itertools.permutations([("tea", 3), ("ink", 8), ("pen", 1)]), strict=False
    ):
        with pricing(setup=Setup(subtask=subtask, parallelism=before)) as harness:
            harness.process_second(*order)
            saved.append(harness.snapshot())
            harness.process_second(("tea", 100))
    for subtask in range(after):
        with pricing(setup=Setup(subtask=subtask, parallelism=after), restored=saved) as again:
            assert again.process("tea", "ink", "pen") == [("tea", 3, None), ("ink", 8, None), ("pen", 1, None)]


def test_keyed_state_timers_and_broadcast_state_are_restored_together() -> None:
    with limits() as harness:
        harness.process_second(1)
        harness.process(("a", 10), ("b", 20))
        saved = harness.snapshot()
    with limits(restored=[saved]) as again:
        assert again.process(("a", 30)) == [("a", 2)]
        assert again.watermark(50) == [("a", 10, 2, 1, 50), ("b", 20, 1, 1, 50), ("a", 30, 2, 1, 50)]


# --- on a keyed stream


def test_records_of_a_key_go_by_what_was_broadcast() -> None:
    with limits() as harness:
        assert harness.process(("a", 1), ("a", 1), ("b", 1)) == []
        harness.process_second(1)
        assert harness.process(("a", 1), ("b", 1)) == [("a", 3), ("b", 2)]


def test_a_broadcast_element_has_no_key() -> None:
    class Touching(Limits):
        def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
            self.count.update(5)

    with OperatorHarness.of(Touching(), broadcast=[RULES], key_by=key_of) as harness:
        harness.process(("a", 1))
        with pytest.raises(UserCodeError) as caught:
            harness.process_second("x")
        assert isinstance(caught.value.__cause__, StateAccessError)
        with pytest.raises(StateAccessError):
            harness.operator._context.get_current_key()  # type: ignore[attr-defined]  # as a function that kept it


def test_a_function_is_applied_to_every_key_that_has_the_state() -> None:
    keys = [f"key {n}" for n in range(3000)]
    with limits() as harness:
        harness.process(*[(key, 1) for key in keys], ("key 7", 1))
        counts = harness.process_second("all")
        assert sorted(counts) == sorted((key, 2 if key == "key 7" else 1) for key in keys)
        harness.process_second("reset")
        assert harness.process_second("all") == []
        harness.watermark(1)
        assert len(harness.operator._backend) == 0  # type: ignore[attr-defined]  # nobody else can tell


def test_what_is_applied_reaches_other_states_of_the_key_and_the_next_snapshot() -> None:
    other = ValueStateDescriptor("other", Types.LONG())

    class Copying(Limits):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            self.other = runtime_context.get_state(other)

        def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
            list(super().process_element(value, ctx))
            yield ctx.get_current_key(), self.other.value()

        def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: self.other.update(state.value() * 10))

    def copying(**options: Any) -> OperatorHarness:
        return OperatorHarness.of(Copying(), broadcast=[RULES], key_by=key_of, **options)

    with copying() as harness:
        harness.process(("a", 1), ("b", 1), ("b", 1))
        before = harness.barrier()
        harness.process_second("copy")
        saved = [harness.finish(before), harness.snapshot()]
    with copying(restored=saved[:1]) as again:
        assert again.process(("a", 1), ("b", 1)) == [("a", None), ("b", None)]
    with copying(restored=saved[1:]) as again:
        assert again.process(("a", 1), ("b", 1)) == [("a", 10), ("b", 20)]


@pytest.mark.parametrize("action", ["register_event", "delete_event", "register_processing", "delete_processing"])
def test_what_is_applied_to_keys_cannot_set_timers(action: str) -> None:
    class Sneaking(Limits):
        def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
            self.timers = ctx.timer_service()
            return super().process_element(value, ctx)

        def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: getattr(self.timers, f"{action}_time_timer")(7))

    with OperatorHarness.of(Sneaking(), broadcast=[RULES], key_by=key_of) as harness:
        harness.process(("a", 1))
        with pytest.raises(UserCodeError) as caught:
            harness.process_second("x")
        assert isinstance(caught.value.__cause__, StateAccessError)
        assert "broadcast elements" in str(caught.value.__cause__)
        harness.process(("a", 2))
        assert [time for _, time, *_ in harness.watermark(10)] == [1, 2]


def test_an_error_names_the_side_and_what_was_applied_the_key() -> None:
    class Failing(Limits):
        def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: [1 // 0])

    with OperatorHarness.of(Failing(), broadcast=[RULES], key_by=key_of) as harness:
        harness.process(("a", 1))
        with pytest.raises(UserCodeError) as caught:
            harness.process_second("x")
    failure = failure_of(caught.value, "limits", 0)
    assert "(in process_broadcast_element())" in failure.error
    assert "in apply_to_keyed_state(), for key 'a'" in failure.error
    assert (failure.record, failure.key) == ("'x'", None)
