"""Side outputs: what is yielded with a tag is kept apart."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.errors import ProgramError
from headgate.functions.api import ProcessFunction
from headgate.operators.outputs import split_sides
from headgate.testing.harness import OperatorHarness
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types

ODD = OutputTag("odd", Types.INT())


class Sorter(ProcessFunction):
    """Yields odd numbers beside the others."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        else:
            yield value


def test_a_process_function_yields_with_a_tag_what_is_not_of_its_main_output() -> None:
    with OperatorHarness.of(Sorter()) as harness:
        assert harness.process(1, 2, 3, timestamp_ms=7) == [2]
        assert harness.side(ODD) == [1, 3]
        assert harness.process(4) == [4]
        assert harness.side(ODD) == [1, 3]


def test_pairs_that_begin_with_no_tag_are_ordinary_records() -> None:
    records = [("odd", 1), (1, 2, 3), (ODD, 1, 2), [ODD, 1]]
    main, sides = split_sides(list(records), None)
    assert (main.records, sides) == (records, ())


def test_each_tag_has_its_own_output_in_order() -> None:
    late = OutputTag("late")
    main, sides = split_sides([(late, 1), 2, (ODD, 3), (late, 4)], None)
    assert main.records == [2]
    assert main.timestamps is None
    assert {tag: batch.records for tag, batch in sides} == {"late": [1, 4], "odd": [3]}


def test_a_tag_that_came_with_a_function_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = pickle.dumps(ODD)
    monkeypatch.setattr(OutputTag, "in_use", False)
    assert pickle.loads(pickled) == OutputTag("odd")  # noqa: S301  # pickled just now
    assert OutputTag.in_use


@pytest.mark.parametrize("tag_id", ["", None, 5])
def test_a_tag_needs_an_id(tag_id: Any) -> None:
    with pytest.raises(ProgramError, match="needs an id"):
        OutputTag(tag_id)
