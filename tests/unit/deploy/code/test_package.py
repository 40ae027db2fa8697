"""The package of a job: fresh objects each time, classes of the main script, and what a worker lacks."""

from __future__ import annotations

import gc
import pickle
import sys
import sysconfig
from types import CodeType, ModuleType
from typing import Any

import pytest
from cloudpickle import cloudpickle as by_value

from headgate.deploy.code.package import pack, unpack
from headgate.errors import EnvironmentFault
from headgate.graph.job_graph import JobGraph
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory, MapOperator
from headgate.state.formats import missing_module
from tests.unit.runtime.plans import line_plan


class Holder:
    """A function object with something in it."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def __call__(self, value: Any) -> Any:
        return value


def functions_of(plan: JobGraph) -> list[Any]:
    operators = [operator.factory.create() for vertex in plan.vertices for operator in vertex.operators]
    return [operator._user.function for operator in operators if isinstance(operator, MapOperator)]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A main script of our own."""
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    return module


def test_each_unpacking_makes_fresh_functions() -> None:
    package = pack(line_plan([1], MapFactory(Holder()), CollectFactory()))
    (one,), (other,) = functions_of(unpack(package)), functions_of(unpack(package))
    assert one is not other
    assert one.items is not other.items


def test_classes_of_the_process_that_has_packed_them_stay_as_they_are() -> None:
    class Local(Holder):
        def __call__(self, value: Any) -> Any:
            return value

    method = vars(Local)["__call__"]
    (function,) = functions_of(unpack(pack(line_plan([1], MapFactory(Local()), CollectFactory()))))
    assert type(function) is Local
    assert vars(Local)["__call__"] is method


def test_a_class_that_is_gone_meanwhile_is_made_anew() -> None:
    def packed() -> bytes:
        class Local(Holder):
            def __call__(self, value: Any) -> Any:
                return value + 1

        return pack(line_plan([1], MapFactory(Local()), CollectFactory()))

    package = packed()
    gc.collect()
    (function,) = functions_of(unpack(package))
    assert function(1) == 2


def test_code_keeps_the_name_of_its_file_though_cloudpickle_leaves_it_out(
    main: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless(code: CodeType) -> Any:
        return reduce(code.replace(co_filename="<dynamic-code>"))

    reduce = by_value._code_reduce
    monkeypatch.setattr(by_value, "_code_reduce", nameless)
    monkeypatch.setitem(by_value.Pickler._dispatch_table, CodeType, nameless)
    exec(compile("outer = lambda number: lambda: number", "job.py", "exec"), vars(main))
    (outer,) = functions_of(unpack(pack(line_plan([1], MapFactory(main.outer), CollectFactory()))))
    assert outer is not main.outer
    assert {outer.__code__.co_filename, outer(1).__code__.co_filename} == {"job.py"}


def test_a_function_used_twice_is_two_functions() -> None:
    holder = Holder()
    one, other = functions_of(unpack(pack(line_plan([1], MapFactory(holder), MapFactory(holder), CollectFactory()))))
    assert one is not other


def test_the_plan_is_otherwise_the_same() -> None:
    plan = line_plan([1], MapFactory(Holder()), CollectFactory())
    again = unpack(pack(plan))
    assert (again.job_id, again.edges) == (plan.job_id, plan.edges)
    assert [vertex.name for vertex in again.vertices] == [vertex.name for vertex in plan.vertices]


def test_packing_leaves_the_drivers_plan_as_it_is() -> None:
    plan = line_plan([1], MapFactory(Holder()), CollectFactory())
    before = [operator.factory for vertex in plan.vertices for operator in vertex.operators]
    pack(plan)
    assert [operator.factory for vertex in plan.vertices for operator in vertex.operators] == before


def test_objects_of_the_main_scripts_classes_can_be_pickled_by_name_in_a_slot(
    main: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    exec("class Visit:\n    def __init__(self, page):\n        self.page = page", vars(main))
    package = pack(line_plan([1], CollectFactory()))
    record = pickle.dumps(main.Visit("home"))
    slot = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", slot)
    unpack(package)
    assert pickle.loads(record).page == "home"  # noqa: S301  # made above
    assert len(record) < 100


def test_a_class_that_cannot_travel_is_left_out(main: ModuleType) -> None:
    exec("import threading\nclass Locked:\n    lock = threading.Lock()\nclass Fine: pass", vars(main))
    package = pack(line_plan([1], CollectFactory()))
    del main.Fine, main.Locked
    unpack(package)
    assert hasattr(main, "Fine")
    assert not hasattr(main, "Locked")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (
            "/jobs/only_in_the_driver.py",
            r"the driver has it as /jobs/only_in_the_driver\.py.*env\.add_python_file\('/jobs/only_in_the_driver\.py'\)"
            r".*--py-files of spark-submit.*headgate pack --add /jobs/only_in_the_driver\.py",
        ),
        (f"{sysconfig.get_path('purelib')}/only_in_the_driver.py", r"set_python_requirements\(\).*\(headgate pack\)"),
    ],
)
def test_a_module_that_a_worker_lacks_is_named_with_how_to_ship_it(
    monkeypatch: pytest.MonkeyPatch, file: str, told: str
) -> None:
    module = ModuleType("only_in_the_driver")
    module.__file__ = file
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("def function(value): return value", vars(module))
    package = pack(line_plan([1], MapFactory(module.function), CollectFactory()))
    monkeypatch.delitem(sys.modules, module.__name__)
    monkeypatch.setattr(missing_module, "_of_driver", {})
    with pytest.raises(EnvironmentFault, match=rf"needs module 'only_in_the_driver'.*{told}"):
        functions_of(unpack(package))


def test_a_module_that_is_another_one_on_the_worker_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("newer_in_the_driver")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("def function(value): return value", vars(module))
    package = pack(line_plan([1], MapFactory(module.function), CollectFactory()))
    del vars(module)["function"]
    missing = r"'function'.*newer_in_the_driver|newer_in_the_driver.*'function'"  # by version of Python
    with pytest.raises(EnvironmentFault, match=rf"differs from the driver's: .*({missing})"):
        functions_of(unpack(package))
