"""The typed form of batches: there and back, both readers against each other, and bytes that are damaged."""

from __future__ import annotations

import datetime as dt
import gc
import pickle
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import DamagedBatchError
from headgate.types.row import KeywordNames, Row, RowKind, make_row
from headgate.types.typed_batches import codec, is_typed, read
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left
from tests.typed_batches.values import EDGES, OTHERS, Values, shown
from tests.typed_batches.writer import encoded

Batch = tuple[list[Any], list[int] | None, list[Any] | None]
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def compiled() -> Any:
    found = codec(compiled_module())
    assert found is not None
    return found


READERS = ["compiled", "python"]


@pytest.fixture(params=READERS)
def decode(request: pytest.FixtureRequest) -> Callable[[bytes], Batch]:
    """Either reader."""
    if request.param == "python":
        return read
    found = codec(compiled_module())
    assert found is not None
    return found.decode


def batch_of(seed: int, others: float = 0.0) -> Batch:
    return Values(random.Random(seed), others).batch()


@given(SEEDS)
def test_batches_come_back_from_both_readers_as_from_pickle(compiled: Any, seed: int) -> None:
    batch = batch_of(seed)
    payload = encoded(*batch)
    assert compiled.encode(*batch) == payload, "the Python writer says what to write"
    if payload is not None:
        assert is_typed(payload)
        wanted = shown(pickle.loads(pickle.dumps(batch, 5)))  # noqa: S301  # our own
        assert shown(compiled.decode(payload)) == wanted
        assert shown(compiled.decode(memoryview(payload))) == wanted
        assert shown(read(payload)) == wanted


@given(SEEDS)
def test_batches_are_read_where_there_is_no_compiled_module(seed: int) -> None:
    batch = batch_of(seed)
    payload = encoded(*batch)
    if payload is not None:
        assert shown(read(payload)) == shown(pickle.loads(pickle.dumps(batch, 5)))  # noqa: S301  # our own


@given(SEEDS)
def test_a_batch_with_a_value_of_another_type_is_left_to_pickle(compiled: Any, seed: int) -> None:
    batch = batch_of(seed, others=0.02)
    assert compiled.encode(*batch) == encoded(*batch)


@pytest.mark.parametrize("value", EDGES, ids=range(len(EDGES)))
def test_each_value_comes_back_alone_and_with_others(compiled: Any, decode: Any, value: Any) -> None:
    for records in (
        [value],
        [(value, 1), (value, 2)],
        [value, None, 7, "a"],
        [{"a": value}],
        [Row(a=value)],
        [[value]],
    ):
        payload = compiled.encode(records, None, None)
        assert payload == encoded(records, None, None)
        assert shown(decode(payload)[0]) == shown(records)


@pytest.mark.parametrize("value", OTHERS, ids=range(len(OTHERS)))
def test_values_of_other_types_have_no_typed_form(compiled: Any, value: Any) -> None:
    for records in ([value], [(1, value)], [1, [value]], [{"a": value}], [{value: 1}] if value.__hash__ else [[value]]):
        assert compiled.encode(records, None, None) is None
    assert compiled.encode([1], None, [value]) is None


def test_rows_keep_their_names_kinds_and_containers(compiled: Any, decode: Any) -> None:
    rows = [
        *(Row(b=1, a=2), Row(b=3, a=4), Row(a=1, b=2), Row(), Row(1, "x"), Row.of_kind(RowKind.DELETE, 5)),
        *(make_row((1, 2), ("a", "b")), make_row([1], ("a", "b"), RowKind.UPDATE_AFTER)),
    ]
    found, _, _ = decode(compiled.encode(rows, None, None))
    assert shown(found) == shown(rows)
    assert [type(row) for row in found] == [type(row) for row in rows]
    assert type(found[0]._fields) is KeywordNames
    assert found[0].b == 1
    found[0]["a"] = 9
    assert (found[0].a, found[1].a) == (9, 4)


class Quiet:
    """A base whose subclasses `Row` does not hear of."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        pass

    def __reduce__(self) -> Any:
        return OwnRow, tuple(self._values)  # type: ignore[attr-defined]


class OwnRow(Quiet, Row):
    __slots__ = ()


def test_rows_of_a_programs_own_class_are_left_to_pickle(compiled: Any) -> None:
    assert compiled.encode([OwnRow(1, 2)], None, None) is None


def test_memory_that_may_change_meanwhile_is_not_read(compiled: Any) -> None:
    with pytest.raises(TypeError, match="memory that cannot change"):
        compiled.decode(bytearray(compiled.encode([1], None, None)))


def test_rows_that_are_not_whole_are_left_to_pickle(compiled: Any) -> None:
    odd = make_row([1], ("a",))
    odd._values = range(3)  # type: ignore[assignment]
    many = [Row(**{f"n{at}": 1}) for at in range(65)]
    assert compiled.encode([odd], None, None) is None
    assert compiled.encode([object.__new__(Row)], None, None) is None
    assert compiled.encode(many, None, None) is None
    assert compiled.encode(many[:64], None, None) is not None


def test_objects_that_come_again_are_written_once_and_stay_the_same(compiled: Any, decode: Any) -> None:
    shared, text = [1], "x" * 1000
    records = [(shared, text), ([2], text), (shared, text), (shared, "y")]
    payload = compiled.encode(records, None, None)
    assert len(payload) < 1200
    found, _, _ = decode(payload)
    assert found == records
    assert found[0][0] is found[2][0] is found[3][0] is not found[1][0]
    assert found[0][1] is found[1][1]
    same = [shared] * 3
    found, _, _ = decode(compiled.encode(same, None, None))
    assert found[0] is found[1] is found[2]


def test_what_is_in_two_places_of_a_record_is_left_to_pickle(compiled: Any) -> None:
    shared = [1]
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    deep: tuple[Any, ...] = (1,)
    for _ in range(60):
        deep = (deep, deep)
    for records in (
        [(shared, shared)],
        [[shared, 1, shared], {"a": shared}],
        [cyclic],
        [deep],
        [({"a": shared}, shared)],
    ):
        assert compiled.encode(records, None, None) is None
    assert compiled.encode([(5, "a"), shared], None, [5, shared]) is None
    assert compiled.encode([((), ()), ((), 1)], None, [(), ()]) is not None


def test_keys_and_timestamps_that_are_parts_of_the_records_are_written_once(compiled: Any, decode: Any) -> None:
    cases: list[tuple[list[Any], Callable[[Any], Any]]] = [
        ([(f"key {at}", at) for at in range(100)], lambda record: record[0]),
        ([{"at": at, "key": f"key {at}"} for at in range(100)], lambda record: record["key"]),
        ([Row(at=at, key=f"key {at}") for at in range(100)], lambda record: record.key),
        ([(at, (1, [f"key {at}"])) for at in range(100)], lambda record: record[1][1][0]),
        ([f"key {at}" for at in range(100)], lambda record: record),
    ]
    for records, keys in cases:
        own = list(map(keys, records))
        payload = compiled.encode(records, None, own)
        assert len(payload) - len(compiled.encode(records, None, None)) == 0
        found = decode(payload)
        assert found == (records, None, own)
        assert all(keys(record) is key for record, key in zip(found[0], found[2], strict=True))
    times = [10**12 + at for at in range(100)]
    nested = [(at, {"key": [at]}) for at in times]
    assert decode(compiled.encode(nested, times, times)) == (nested, times, times)


@pytest.mark.parametrize("depth", [1, 20, 30, 31, 32, 60, 63, 64, 65, 66, 200, 3000])
def test_records_that_are_nested_too_deeply_are_left_to_pickle(compiled: Any, decode: Any, depth: int) -> None:
    for wrap in (lambda value: [value], lambda value: {"a": value}, lambda value: Row(value), lambda value: [value, 1]):
        record: Any = 1
        for _ in range(depth):
            record = wrap(record)
        payload = compiled.encode([record], None, None)
        if depth < 200:
            assert payload == encoded([record], None, None)
        if payload is not None:
            assert shown(decode(payload)[0]) == shown([record])
        assert (payload is None) >= (depth > 64)


def test_wrong_arguments_are_refused(compiled: Any) -> None:
    with pytest.raises(TypeError, match="takes 3 arguments"):
        compiled.encode([])
    with pytest.raises(TypeError, match="takes lists, not tuple"):
        compiled.encode((), None, None)
    with pytest.raises(TypeError, match="takes lists, not NoneType"):
        compiled.encode(None, None, None)
    with pytest.raises(TypeError):
        compiled.decode("text")
    assert compiled.encode([], None, []) is None
    assert compiled.encode([1], [2, 3], None) is None
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(compiled)


SMALL: list[Batch] = [
    ([(1, "a", 2.5), (300, "é", -0.0)], [10**12, 5], [1, 300]),
    ([{"a": 1, "b": [1, 2]}, {"a": 2, "b": []}, {"c": None}], None, ["x", "x", "y"]),
    ([Row(b=1, a="x"), Row(b=2, a="y"), Row(1), make_row((True, b"z"), ("p", "q"))], [1, 2, 3, 4], None),
    ([dt.date(2024, 2, 29), dt.time(1, 2, 3, 4, fold=1), dt.datetime.max, dt.timedelta.min, None, 2**70], None, None),
    ([EDGES[-3], *[each for each in EDGES if type(each).__name__ == "Decimal"]], None, None),
    (
        [(dt.datetime(2026, 1, 1, tzinfo=dt.UTC), [(1,), (2, 3)]), (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), [])],
        None,
        None,
    ),
]


def outcome(decode: Callable[[bytes], Batch], payload: bytes) -> Any:
    """Return what a reader finds, or that it has refused the bytes."""
    try:
        return shown(decode(payload))
    except DamagedBatchError:
        return "damaged"


@pytest.mark.parametrize("batch", SMALL, ids=range(len(SMALL)))
def test_each_damaged_byte_is_read_alike_or_refused_by_both(compiled: Any, batch: Batch) -> None:
    payload = compiled.encode(*batch)
    refused = 0
    for at in range(len(payload)):
        for flip in (1, 0x80, 0xFF, payload[at] ^ 0xFF, payload[at]):
            damaged = bytes([*payload[:at], payload[at] ^ flip, *payload[at + 1 :]])
            found = outcome(compiled.decode, damaged)
            assert found == outcome(read, damaged), (at, flip)
            refused += found == "damaged"
    assert refused > len(payload)


@pytest.mark.parametrize("batch", SMALL, ids=range(len(SMALL)))
def test_bytes_that_are_cut_off_or_too_many_are_refused(decode: Any, compiled: Any, batch: Batch) -> None:
    payload = compiled.encode(*batch)
    for end in range(len(payload)):
        assert outcome(decode, payload[:end]) == "damaged"
    assert outcome(decode, payload + b"\0") == "damaged"


@given(st.binary(max_size=60), st.integers(0, 70))
def test_any_bytes_are_read_alike_or_refused(compiled: Any, tail: bytes, count: int) -> None:
    payload = b"HGB\x01" + bytes([count, *bytes(11)]) + tail
    assert outcome(compiled.decode, payload) == outcome(read, payload)
    assert outcome(compiled.decode, tail) == outcome(read, tail)


def test_a_few_bytes_cannot_ask_for_much_memory(decode: Any) -> None:
    many = (2**31 - 1).to_bytes(4, "little")
    for column in (
        b"\0",
        b"\x0d\0",
        b"\x0d\xfe",
        b"\x0e\xff\x08" + many * 2,
        b"\x11",
        b"\x12" + many,
        b"\x10",
        b"\x0f\1",
    ):
        payload = b"HGB\x01" + many + bytes(8) + column + bytes(40)
        assert outcome(decode, payload) == "damaged"
        payload = b"HGB\x01" + b"\1\0\0\0" + bytes(8) + column + bytes(40)
        outcome(decode, payload)


def test_the_error_names_its_cause(decode: Any, compiled: Any) -> None:
    payload = compiled.encode(["aaaa"], None, None)
    with pytest.raises(DamagedBatchError, match="a value is wrong") as caught:
        decode(payload.replace(b"aaaa", b"a\xffaa"))
    assert isinstance(caught.value.__cause__, UnicodeDecodeError)
    with pytest.raises(DamagedBatchError, match="unknown version"):
        decode(payload.replace(b"HGB\x01", b"HGB\x02"))


def test_garbage_collection_is_on_or_off_as_before(compiled: Any) -> None:
    """It is off while a batch is written, because the writer borrows references and finalisers are Python code."""
    was_on = gc.isenabled()
    try:
        for switch, is_on in ((gc.enable, True), (gc.disable, False)):
            switch()
            for records in ([(1, Decimal(2))], [{1}], []):
                compiled.encode(records, None, None)
                assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()


@pytest.mark.slow
def test_no_reference_and_no_object_is_left_behind(compiled: Any) -> None:
    values = [batch_of(seed, others=seed % 3 * 0.01) for seed in range(60)] + SMALL
    payloads = [payload for batch in values if (payload := compiled.encode(*batch)) is not None]

    def all_ways() -> None:
        chance = random.Random(7)  # the same damages again: new names of rows make classes, which stay
        for batch in values:
            compiled.encode(*batch)
        for payload in payloads:
            compiled.decode(payload)
            damaged = bytearray(payload)
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            outcome(compiled.decode, bytes(damaged))

    check_nothing_is_left(all_ways, 20, [None, Row])
