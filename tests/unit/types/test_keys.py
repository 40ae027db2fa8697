"""Keys: equal keys are one key, different keys differ, and everything is the same in every process."""

import datetime as dt
import enum
import os
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.errors import SerializationError
from headgate.types.instant import Instant
from headgate.types.keys import canonical_bytes, hash_code
from headgate.types.row import Row, RowKind


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Shade(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    A = "a"


Point = namedtuple("Point", ["x", "y"])


@dataclass(frozen=True)
class Account:
    number: object


_UTC_PLUS_1 = dt.timezone(dt.timedelta(hours=1))
_numbers = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, min_value=-(10**20), max_value=10**20),
    st.integers(-3, 3).map(float),
    st.integers(-3, 3).map(Decimal),
    st.sampled_from(
        [0.5, Decimal("0.50"), Decimal("0.1"), 0.1, -0.0, Decimal("-0"), Decimal("Infinity"), float("inf")]
    ),
)
_simple = st.one_of(
    _numbers,
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.times(timezones=st.sampled_from([None, dt.UTC, _UTC_PLUS_1])),
    st.datetimes(timezones=st.sampled_from([None, dt.UTC, _UTC_PLUS_1])),
    st.timedeltas(),
    st.builds(Instant, st.integers(-(2**40), 2**40), st.integers(0, 999_999_999)),
    st.uuids(),
    st.sampled_from([*Colour, *Shade, *Level, *Name]),
)
_keys = st.recursive(
    _simple,
    lambda inner: st.one_of(
        st.lists(inner | st.none(), max_size=3).map(tuple),
        st.lists(inner | st.none(), max_size=2).map(lambda values: Row(*values)),
        st.dictionaries(st.sampled_from("ab"), inner, min_size=1, max_size=2).map(lambda fields: Row(**fields)),
    ),
    max_leaves=4,
)


_unhashable = st.recursive(
    _simple,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(_simple, inner, max_size=2),
        st.frozensets(_simple, max_size=3),
        st.builds(Account, inner),
    ),
    max_leaves=4,
)


@given(_unhashable, _unhashable)
@example({"a": 1, "b": 2}, {"b": 2, "a": 1})
@example([1, (2,)], [1, [2]])
@example({1, 2}, frozenset({2, 1}))
def test_values_without_a_hash_have_the_same_bytes_exactly_when_they_are_equal(left: object, right: object) -> None:
    assert (canonical_bytes(left) == canonical_bytes(right)) == (left == right)


@given(_keys, _keys)
@example(Decimal("0.1"), 0.1)
@example(("ab", "c"), ("a", "bc"))
@example((1, (2, 3)), ((1, 2), 3))
@example(Row(a=1), Row(b=1))
@example(Row(1), (1,))
@example(Row(1), Row.of_kind(RowKind.DELETE, 1))
@example(dt.date(1, 1, 1), dt.datetime(1, 1, 1))
def test_keys_have_the_same_bytes_exactly_when_they_are_equal(left: object, right: object) -> None:
    assert (canonical_bytes(left) == canonical_bytes(right)) == (left == right)


@given(_keys, _keys)
def test_equal_keys_have_equal_hash_codes_of_32_bits(left: object, right: object) -> None:
    assert -(2**31) <= hash_code(left) < 2**31
    if left == right:
        assert hash_code(left) == hash_code(right)


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (1, True), (1, 1.0), (1, Decimal("1.00")), (0, -0.0), (1, Level.LOW), ("a", Name.A), (0.5, Decimal("0.5")),
        (Point(1, 2), (1, 2)), ((1, "a"), (True, Name.A)), (10**30, Decimal("1E+30")),
        (float("inf"), Decimal("Infinity")),
        (dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, 13, tzinfo=_UTC_PLUS_1)),
    ],
)  # fmt: skip
def test_python_equal_keys_are_one_key(one: object, same: object) -> None:
    assert one == same
    assert canonical_bytes(one) == canonical_bytes(same)
    assert hash_code(one) == hash_code(same)


def test_an_integer_within_32_bits_is_its_own_hash_code() -> None:
    assert [hash_code(key) for key in (0, -1, 2**31 - 1, -(2**31))] == [0, -1, 2**31 - 1, -(2**31)]
    assert hash_code(2**31) != 2**31


# Stored state depends on these: a change here means that state written before can no longer be found.
PINNED = [
    (7, "6907", 7),
    (-1, "69ff", -1),
    (128, "690080", 128),
    (2**31, "690080000000", 1935689994),
    (0.5, "663fe0000000000000", -1774384314),
    ("", "73", 453955339),
    ("é", "73c3a9", -433352486),
    (b"\x00", "6200", 370285530),
    ((1, None), "74000000026901000000016e", 2027936788),
    (UUID(int=1), "5500000000000000000000000000000001", 5361966),
    (dt.date(2020, 1, 2), "44690b4092", -816651375),
    (Instant(1_577_934_245, 5), "496915e5f2d5e8263205", -1082622372),
    (dt.timedelta(days=1, microseconds=-1), "5469141dd75fff", -889618453),
    (None, "6e", 2013832146),
    ([1, "a"], "4c000000026901000000027361", 1380276709),
    ({"b": 1, "a": None}, "4d000000027361000000016e000000027362000000026901", 526006342),
    (frozenset({1, "a"}), "53000000026901000000027361", -1053677046),
    (
        Account(1),
        "4b000000237374657374732e756e69742e74797065732e746573745f6b6579732e4163636f756e74000000026901",
        -1454337201,
    ),
    (
        Row(b=2, a=1),
        "720000000773494e534552540000000d740000000273610000000273620000000d74000000026901000000026902",
        68968837,
    ),
    (Row(a=1), "720000000773494e5345525400000007740000000273610000000774000000026901", -1988980870),
]


@pytest.mark.parametrize(("key", "as_hex", "code"), PINNED)
def test_bytes_and_hash_codes_never_change(key: object, as_hex: str, code: int) -> None:
    assert canonical_bytes(key).hex() == as_hex
    assert hash_code(key) == code


@pytest.mark.parametrize(
    "scalar", [np.int64(5), np.float64(2), np.float64(0.5), np.float32(0.1), np.str_("a"), np.True_]
)
def test_a_numpy_scalar_is_its_value(scalar: np.generic) -> None:
    assert canonical_bytes(("a", scalar)) == canonical_bytes(("a", scalar.item()))
    assert hash_code(scalar) == hash_code(scalar.item())


@pytest.mark.parametrize("key", [np.longdouble(0.5), np.array([1])], ids=repr)
def test_what_numpy_has_and_python_has_not_is_no_key(key: object) -> None:
    with pytest.raises(SerializationError, match="cannot be a key"):
        canonical_bytes((key,))


_STABLE_KEYS = (
    "[7, 2**40, 0.5, 'text', b'bytes', (1, 'a', None), Row(a=1, b='x'), dt.date(2020, 1, 2), UUID(int=5),"
    " Decimal('0.1'), dt.datetime(2020, 1, 2, tzinfo=dt.UTC)]"
)


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_hash_codes_are_the_same_in_processes_with_other_hash_seeds(seed: str) -> None:
    program = (
        "import datetime as dt\nfrom decimal import Decimal\nfrom uuid import UUID\n"
        "from headgate.types.keys import hash_code\nfrom headgate.types.row import Row\n"
        f"print([hash_code(key) for key in {_STABLE_KEYS}])"
    )
    names = {"dt": dt, "Row": Row, "UUID": UUID, "Decimal": Decimal}
    here = [hash_code(key) for key in eval(_STABLE_KEYS, names)]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == str(here)


class Opaque:
    """Of which nobody knows when two are equal."""


class Shouting(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.upper() == other.upper()

    def __hash__(self) -> int:
        return hash(self.upper())


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (Decimal("NaN"), "the key has NaN in it"),
        ((1, float("nan")), "the key has NaN in it"),
        (bytearray(b"a"), r"a builtins.bytearray cannot be a key.*bytes\(the bytearray\)"),
        ((1, {"a": 1j}), "complex cannot be a key"),
        (Opaque(), "Opaque cannot be a key, .*make it a dataclass, key on a tuple of its fields"),
        (Shouting("a"), "Shouting cannot be a key"),
        (Fraction(1, 3), "Fraction cannot be a key"),
        (1j, "complex cannot be a key"),
        (range(2), "range cannot be a key"),
        (Decimal("1E+999999"), "a Decimal of more than 10000 digits"),
    ],
)
def test_a_key_without_canonical_form_is_refused_with_advice(key: object, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        canonical_bytes(key)
    with pytest.raises(SerializationError, match=message):
        hash_code(key)
