"""Which values are of a type: what a state takes."""

from __future__ import annotations

import datetime as dt
from array import array
from collections import OrderedDict, deque
from decimal import Decimal
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from headgate.common import Instant, Row, TypeInformation, Types
from headgate.types.value_checks import fits_of


class Pair(NamedTuple):
    one: int
    other: int


VALUES: Final[dict[str, Any]] = {
    "int": 7,
    "big int": 2**80,
    "numpy int": np.int32(7),
    "bool": True,
    "numpy bool": np.bool_(True),
    "float": 1.5,
    "numpy float": np.float32(1.5),
    "str": "text",
    "bytes": b"bytes",
    "bytearray": bytearray(b"bytes"),
    "decimal": Decimal("1.5"),
    "date": dt.date(2024, 1, 1),
    "time": dt.time(1),
    "datetime": dt.datetime(2024, 1, 1),
    "instant": Instant(1, 0),
    "list": [1],
    "tuple": (1, 2),
    "named tuple": Pair(1, 2),
    "deque": deque([1]),
    "array": array("l", [1]),
    "numpy array": np.array([1]),
    "dict": {"a": 1},
    "ordered dict": OrderedDict(a=1),
    "set": {1},
    "row": Row(1, 2),
    "object": object(),
}
INTS: Final = {"int", "big int", "numpy int", "bool"}
REALS: Final = INTS | {"float", "numpy float"}
SEQUENCES: Final = {"list", "tuple", "named tuple", "deque", "array", "numpy array"}
FIT: Final[list[tuple[TypeInformation, set[str]]]] = [
    (Types.INT(), INTS),
    (Types.LONG(), INTS),
    (Types.BIG_INT(), INTS),
    (Types.FLOAT(), REALS),
    (Types.DOUBLE(), REALS),
    (Types.BOOLEAN(), {"bool", "numpy bool"}),
    (Types.STRING(), {"str"}),
    (Types.BIG_DEC(), {"decimal"}),
    (Types.INSTANT(), {"instant"}),
    (Types.SQL_DATE(), {"date", "datetime"}),
    (Types.SQL_TIME(), {"time"}),
    (Types.SQL_TIMESTAMP(), {"datetime"}),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), {"bytes", "bytearray"} | SEQUENCES),
    (Types.LIST(Types.LONG()), SEQUENCES),
    (Types.BASIC_ARRAY(Types.LONG()), SEQUENCES),
    (Types.MAP(Types.STRING(), Types.LONG()), {"dict", "ordered dict"}),
    (Types.TUPLE([Types.LONG(), Types.LONG()]), {"tuple", "named tuple", "list", "row"}),
    (Types.ROW([Types.LONG(), Types.LONG()]), {"tuple", "named tuple", "list", "row"}),
    (Types.PICKLED_BYTE_ARRAY(), set(VALUES)),
]


@pytest.mark.parametrize(("type_info", "fitting"), FIT, ids=lambda each: str(each) if type(each) is not set else "")
def test_what_values_are_of_a_type(type_info: TypeInformation, fitting: set[str]) -> None:
    fits = fits_of(type_info)
    assert {name for name, value in VALUES.items() if fits(value)} == fitting
