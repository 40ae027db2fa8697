"""Objects whose classes or functions no module holds travel between the processes of a job, and classes stay one."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headgate.elements import Batch, sendable
from headgate.types import by_value


def local_class() -> Any:
    @dataclass
    class Point:
        x: int
        made = 0

        def doubled(self) -> int:
            return 2 * self.x

    return Point


def test_a_default_dict_with_a_lambda_travels() -> None:
    batch = Batch([defaultdict(lambda: 7, a=1)], [5], ["key"])
    arrived = Batch.decode(batch.encode_to_send())
    assert (arrived.records[0]["a"], arrived.records[0]["b"]) == (1, 7)
    assert (arrived.timestamps, arrived.keys) == ([5], ["key"])


def test_an_object_of_a_local_class_arrives_as_one_of_the_same_class() -> None:
    point = local_class()
    arrived = pickle.loads(sendable(point(3)))  # noqa: S301  # pickled here
    assert arrived == point(3)
    assert arrived.doubled() == 6


def test_an_arriving_object_leaves_the_attributes_of_its_class_as_they_are() -> None:
    point = local_class()
    data = sendable(point(3))
    point.made = 5
    assert pickle.loads(data).made == 5  # noqa: S301  # pickled here


def test_another_process_fills_the_class_once(tmp_path: Path) -> None:
    point = local_class()
    (tmp_path / "one").write_bytes(sendable(point(1)))
    point.made = 9
    (tmp_path / "two").write_bytes(sendable(point(2)))
    program = """
import pathlib, pickle, sys
folder = pathlib.Path(sys.argv[1])
one = pickle.loads((folder / "one").read_bytes())
type(one).made = 4
two = pickle.loads((folder / "two").read_bytes())
print(type(one) is type(two), two.made, two.doubled())
"""
    told = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout
    assert told.split() == ["True", "4", "4"]


def test_what_pickle_takes_is_not_pickled_by_value() -> None:
    assert not by_value.is_by_value(sendable({"a": 1}))
    assert not by_value.is_by_value(Batch(["headgate"]).encode_to_send())
    assert by_value.is_by_value(sendable(local_class()(1)))
    assert by_value.is_by_value(memoryview(Batch([lambda: 0]).encode_to_send()))


def test_what_cannot_be_pickled_at_all_raises() -> None:
    with pytest.raises(TypeError, match="generator"):
        sendable(n for n in (1, 2))
