from __future__ import annotations

import functools
import pickle
import sqlite3
import threading
from typing import Any

import pytest

from headgate.errors import SerializationError
from headgate.functions.api import MapFunction
from headgate.graph.closure import serialise
from tests.unit.graph.programs import SomeFactory


class Client:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def look_up(self, value: object) -> object:
        return value


class Enrich(MapFunction):
    def __init__(self) -> None:
        self.client = Client()

    def map(self, value: Any) -> Any:
        return self.client.look_up(value)


class Refuses:
    def __reduce__(self) -> Any:
        raise RuntimeError("not today")


def message_for(fn: object) -> str:
    with pytest.raises(SerializationError) as caught:
        serialise(fn, "map")
    return str(caught.value)


def test_a_lambda_comes_back_as_it_was() -> None:
    offset = 3
    assert pickle.loads(serialise(lambda value: value + offset, "map"))(1) == 4  # noqa: S301 - made here


def test_a_captured_variable_is_named_with_its_type() -> None:
    conn = sqlite3.connect(":memory:")

    def enrich(value: int) -> object:
        return conn.execute("select ?", [value])

    try:
        assert message_for(enrich) == (
            "function 'enrich' of operator 'map' captures 'conn' (a sqlite3.Connection), which cannot be serialised; "
            "open it in open()"
        )
    finally:
        conn.close()


def test_an_attribute_is_named_by_its_path() -> None:
    assert "the Enrich object of operator 'map' captures 'client.lock' (a _thread.lock)" in message_for(Enrich())


def test_the_function_inside_a_factory_is_named_not_the_factory() -> None:
    assert "the Enrich object of operator 'map' captures 'client.lock'" in message_for(SomeFactory(Enrich()))


def test_a_default_value_is_named() -> None:
    def enrich(value: int, lock: Any = threading.Lock()) -> object:  # noqa: B008 - the fault in question
        return value, lock

    assert "function 'enrich' of operator 'map' captures 'lock'" in message_for(enrich)


def test_a_global_read_by_an_inner_function_is_named() -> None:
    source = "def outer(value):\n    def inner():\n        return HIDDEN\n    return inner()"
    scope: dict[str, Any] = {"HIDDEN": threading.Lock(), "__name__": "__main__"}
    exec(source, scope)
    assert "function 'outer' of operator 'map' captures 'HIDDEN' (a _thread.lock)" in message_for(scope["outer"])


def test_a_captured_function_leads_to_what_it_captures() -> None:
    lock = threading.Lock()

    def inner(value: int) -> object:
        return value, lock

    assert "captures 'inner.lock'" in message_for(lambda value: inner(value))


def test_items_of_containers_are_named() -> None:
    pools = {"a": [1, threading.Lock()]}
    assert "captures \"pools['a'][1]\"" in message_for(lambda value: (value, pools))


def test_the_owner_of_a_bound_method_is_searched() -> None:
    assert "function 'look_up' of operator 'map' captures 'self.lock'" in message_for(Client().look_up)


def test_the_arguments_of_a_partial_are_searched() -> None:
    assert "captures 'argument 0' (a _thread.lock)" in message_for(functools.partial(print, threading.Lock()))


def test_an_object_whose_own_pickling_fails_shows_the_reason() -> None:
    assert message_for(Refuses()) == "the Refuses object of operator 'map' cannot be serialised: not today"
