"""The functions that make values of windows: the compiled ones return and raise what those in Python do."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import pytest

from headgate.operators.windows.combined_contents import added, itself, swapped
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left


def both() -> list[Any]:
    return [None, compiled_module()]


def test_they_return_what_they_do_in_python() -> None:
    for native in both():
        value = ["value"]
        assert itself(native)(value) is value
        assert added(native, lambda record, so_far: (record, so_far), lambda: "new")(1) == (1, "new")
        assert swapped(native, lambda so_far, record: (so_far, record))(1, 2) == (2, 1)


def test_errors_of_the_program_come_through() -> None:
    for native in both():
        with pytest.raises(ZeroDivisionError):
            added(native, lambda record, so_far: record / so_far, lambda: 0)(1)
        with pytest.raises(KeyError):
            added(native, lambda record, so_far: record, lambda: {"a": 1}["b"])(1)
        with pytest.raises(ZeroDivisionError):
            swapped(native, lambda so_far, record: so_far / record)(0, 1)


def test_wrong_arguments_are_refused() -> None:
    native = compiled_module()
    for step, count in ((itself(native), 1), (added(native, max, list), 1), (swapped(native, max), 2)):
        for wrong in range(4):
            if wrong != count:
                with pytest.raises(TypeError, match="arguments"):
                    step(*range(wrong))
        with pytest.raises(TypeError):
            step(value=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(step)
    with pytest.raises(ValueError, match="no kind of step"):
        native.Step("other", None, None)
    with pytest.raises(TypeError):
        native.Step("itself")


def test_a_step_is_collected_with_what_it_refers_to() -> None:
    class Function:
        step: Any

        def __call__(self, *arguments: Any) -> Any:
            return self

    function = Function()
    function.step = added(compiled_module(), function, function)
    seen = weakref.ref(function)
    del function
    gc.collect()
    assert seen() is None


def test_nothing_is_left_behind() -> None:
    native = compiled_module()
    value, add = ["value"], lambda record, so_far: [record, so_far]
    fails: Any = len

    def work() -> None:
        itself(native)(value)
        added(native, add, list)(value)
        swapped(native, add)(value, value)
        with pytest.raises(TypeError):
            added(native, add, fails)(value)

    check_nothing_is_left(work, 50, [value, add])
