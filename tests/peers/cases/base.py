# ruff: noqa
# mypy: ignore-errors
"""Small programs whose output PyFlink and headgate are compared by. The import root is a parameter: `ROOT`.

This file is run, not imported, so that its functions travel with the jobs. A case is a function of an environment: it
returns a stream, which the runner prints, or a list, of which it prints the `repr` of each value. Of one that fails, only
that it does is compared.
"""

import datetime as dt
import glob
import importlib
import os
import tempfile
from dataclasses import dataclass
from decimal import Decimal

common = importlib.import_module(f"{ROOT}.common")
datastream = importlib.import_module(f"{ROOT}.datastream")
state = importlib.import_module(f"{ROOT}.datastream.state")
watermark_strategy = importlib.import_module(f"{ROOT}.common.watermark_strategy")

Types, Row, RowKind, Instant = common.Types, common.Row, common.RowKind, common.Instant
Time, Duration = common.Time, common.Duration
OutputTag = datastream.OutputTag

CASES = {}


@dataclass
class Case:
    build: object
    sorts: bool
    alone: bool
    batch: bool = False


def case(*, sorts=False, alone=False, batches=False, name=None):
    """Add a case. `sorts`: the order of its lines means nothing. `alone`: it fails, or returns a list.

    `batches`: it is run in batch mode as well.
    """

    def add(build):
        known_as = name or build.__name__
        assert known_as not in CASES, known_as
        CASES[known_as] = Case(build, sorts, alone)
        if batches:
            CASES[f"batch: {known_as}"] = Case(build, sorts, alone, batch=True)
        return build

    return add


def ab():
    """A type of rows that functions can take along: PyFlink cannot pickle one that it has used before."""
    return Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


AB = ab()


@dataclass(frozen=True)
class Point:
    x: int


NOON = dt.datetime(2020, 1, 2, 12, 30, 5, 678000)

PAIRS = [("a", 3), ("b", 1), ("a", 5), ("b", 2), ("a", 1)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
NAMED = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])


def by_key(env, type_info=PAIR, records=PAIRS):
    return env.from_collection(records, type_info=type_info).key_by(lambda each: each[0], key_type=Types.STRING())
