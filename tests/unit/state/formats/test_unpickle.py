"""Unpickling: classes in their place, classes that have moved, classes that are gone."""

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headgate.errors import RestoreError
from headgate.state.formats.unpickle import load, loader

OLD, NEW = "shop_before", "shop_now"


def define(module: ModuleType, name: str, inside: str = "") -> Any:
    """Define a class in a module, as its source would: `Outer.Inner` is one within another."""
    owner = getattr(module, inside) if inside else module
    made = type(name, (), {"__module__": module.__name__, "__qualname__": f"{inside}.{name}".lstrip(".")})
    setattr(owner, name, made)
    return made


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """A module of before and one of now. The test takes classes out of the first."""
    old, new = ModuleType(OLD), ModuleType(NEW)
    monkeypatch.setitem(sys.modules, OLD, old)
    monkeypatch.setitem(sys.modules, NEW, new)
    return old, new


def moved_cart(modules: tuple[ModuleType, ModuleType]) -> tuple[bytes, Any]:
    """Pickle an object, then move its class; return the pickle and the class at its new place."""
    old, new = modules
    cart = define(old, "Cart")()
    cart.items = ["tea"]
    data = pickle.dumps([cart], 5)
    del old.Cart
    return data, define(new, "Cart")


def test_a_class_that_is_gone_is_named_with_both_next_steps(modules: tuple[ModuleType, ModuleType]) -> None:
    data, _ = moved_cart(modules)
    with pytest.raises(RestoreError) as caught:
        load(data, {}, "chk-3/a1-u-0-keyed: key group 7")
    before, rest = str(caught.value).split(" (")
    why, after = rest.split("); ")
    assert before == (
        "chk-3/a1-u-0-keyed: key group 7 holds objects of the class shop_before.Cart, which no longer exists"
    )
    assert "'Cart'" in why, "in Python's words, which differ by version"
    assert after == (
        "define it under its old name again, or say where it is now: "
        "headgate.state.moved-classes=shop_before.Cart:new.module.Class"
    )


def test_a_module_that_is_gone_is_named(
    modules: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _ = moved_cart(modules)
    monkeypatch.delitem(sys.modules, OLD)
    with pytest.raises(
        RestoreError, match=r"state 's' holds objects of the class shop_before\.Cart.*No module named"
    ) as told:
        loader({}, "state 's'")(data)
    assert "headgate pack" in str(told.value)


@pytest.mark.parametrize("moved", [{f"{OLD}.Cart": f"{NEW}.Cart"}, {OLD: NEW}])
def test_a_class_that_has_moved_is_found_at_its_new_name(
    modules: tuple[ModuleType, ModuleType], moved: dict[str, str]
) -> None:
    data, cart_now = moved_cart(modules)
    for read in (load(data, moved, "x"), loader(moved, "x")(data)):
        assert type(read[0]) is cart_now
        assert read[0].items == ["tea"]


def test_of_two_names_that_fit_the_longer_counts(modules: tuple[ModuleType, ModuleType]) -> None:
    data, cart_now = moved_cart(modules)
    assert type(load(data, {OLD: "elsewhere", f"{OLD}.Cart": f"{NEW}.Cart"}, "x")[0]) is cart_now


def test_a_name_that_only_begins_alike_is_left_alone(modules: tuple[ModuleType, ModuleType]) -> None:
    old, _ = modules
    cart = define(old, "Cartoon")
    assert type(load(pickle.dumps(cart(), 5), {f"{OLD}.Cart": f"{NEW}.Cart"}, "x")) is cart


def test_a_class_within_a_class_moves_along(modules: tuple[ModuleType, ModuleType]) -> None:
    old, new = modules
    define(old, "Cart")
    data = pickle.dumps(define(old, "Line", inside="Cart")(), 5)
    define(new, "Basket")
    line_now = define(new, "Line", inside="Basket")
    assert type(load(data, {f"{OLD}.Cart": f"{NEW}.Basket"}, "x")) is line_now


def test_a_wrong_new_name_is_named_with_the_option(modules: tuple[ModuleType, ModuleType]) -> None:
    data, _ = moved_cart(modules)
    for new in (f"{NEW}.Basket", "nowhere.Cart", "Cart"):
        with pytest.raises(RestoreError, match=rf"maps to {new}, but that does not exist \(.*\); correct the option"):
            load(data, {f"{OLD}.Cart": new}, "x")


def test_a_new_module_that_lacks_a_module_of_its_own_says_which(
    modules: tuple[ModuleType, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_broken.py").write_text("import wheels_that_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    data, _ = moved_cart(modules)
    with pytest.raises(RestoreError, match="wheels_that_nobody_has"):
        load(data, {OLD: "shop_broken"}, "x")


def test_a_class_of_the_main_script_is_found_there_and_at_its_new_place(
    modules: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    main, (_, new) = ModuleType("__main__"), modules
    monkeypatch.setitem(sys.modules, "__main__", main)
    visit = define(main, "Visit")
    data = pickle.dumps(visit(), 5)
    assert type(load(data, {}, "x")) is visit
    del main.Visit
    with pytest.raises(RestoreError, match=r"the class __main__\.Visit"):
        load(data, {}, "x")
    visit_now = define(new, "Visit")
    data_now = pickle.dumps(visit_now(), 5)
    assert type(load(data, {"__main__.Visit": f"{NEW}.Visit"}, "x")) is visit_now
    visit_back = define(main, "Visitor")
    assert type(load(data_now, {f"{NEW}.Visit": "__main__.Visitor"}, "x")) is visit_back


@pytest.mark.parametrize("moved", [{}, {"a.B": "c.D"}])
def test_objects_are_read_one_after_the_other_from_a_stream(moved: dict[str, str]) -> None:
    stream = io.BytesIO(pickle.dumps([1], 5) + pickle.dumps("two", 5))
    assert [load(stream, moved, "x"), load(stream, moved, "x")] == [[1], "two"]


def test_a_missing_class_in_the_second_object_of_a_stream_is_named(modules: tuple[ModuleType, ModuleType]) -> None:
    data, _ = moved_cart(modules)
    stream = io.BytesIO(pickle.dumps([1], 5) + data)
    load(stream, {}, "x")
    with pytest.raises(RestoreError, match=r"shop_before\.Cart"):
        load(stream, {}, "x")


class Stubborn:
    """Fails when it is unpickled, by an error that has nothing to do with where its class is."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __setstate__(self, state: dict[str, Exception]) -> None:
        raise state["error"]


@pytest.mark.parametrize("error", [AttributeError("no such setting"), ValueError("no such setting")])
def test_an_error_of_the_classes_own_code_is_told_as_such(error: Exception) -> None:
    said = f"x holds an object that cannot be unpickled: {type(error).__name__}: no such setting"
    with pytest.raises(RestoreError, match=said):
        load(pickle.dumps(Stubborn(error), 5), {}, "x")


@pytest.mark.parametrize(
    "name", ["file_reader\nFileSplit", "parquet\nRowGroupSplit", "part_files\nPartFile", "places\nPlace"]
)
def test_classes_that_headgate_itself_has_moved_are_found(name: str) -> None:
    found = load(f"cheadgate.connectors.{name}\n.".encode(), {}, "a checkpoint of an earlier version")
    assert found.__module__.startswith("headgate.connectors.files.")
