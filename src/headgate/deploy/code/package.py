"""The package that a job travels in: its plan, and the classes that the user's main script defines.

Functions of the main script are pickled by value. Its classes go along as a whole and are made attributes of the slot's
own `__main__`, so that records and state which hold their instances can be pickled by reference there, which is short,
fast, and readable again after a restart.

Each operator is pickled by itself: a function object that the program uses twice is two in the job, as in Flink.
"""

from __future__ import annotations

import io
import pickle
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, Final, final

import cloudpickle
from cloudpickle import cloudpickle as by_value

from headgate.errors import EnvironmentFault
from headgate.graph.job_graph import JobGraph, VertexPlan
from headgate.state.formats.missing_module import files_of_modules, how_to_ship, remember

_packed_here: Final[weakref.WeakSet[type]] = weakref.WeakSet()
"""The classes of this process that are in packages."""


@final
class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """Notes the classes that it pickles, and lets code keep the name of its file, which cloudpickle 3.1.3 leaves out.

    Tracebacks name that file and quote its lines.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, CodeType):
            return _code_of, (obj.co_filename, *by_value._code_reduce(obj))
        if isinstance(obj, type):
            _packed_here.add(obj)
        return super().reducer_override(obj)


def _code_of(file_name: str, make: Callable[..., CodeType], arguments: tuple[Any, ...]) -> CodeType:
    return make(*arguments).replace(co_filename=file_name)


@final
class _Unpickler(pickle.Unpickler):
    """Leaves classes alone that were packed in this process, as on MiniCluster.

    cloudpickle finds them again, and would replace their methods by copies that see the globals of back then.
    """

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        found = super().find_class(module_name, global_name)
        return _fill if found is by_value._class_setstate else found


def _fill(new: type, state: Any) -> type:
    return new if new in _packed_here else by_value._class_setstate(new, state)


@final
@dataclass(frozen=True, slots=True)
class SealedFactory:
    """The factory of an operator, pickled. Whatever is made from it shares nothing with any other operator."""

    data: bytes

    def create(self) -> Any:
        """Return a new operator. Raises `EnvironmentFault` as `unpack` does."""
        return _load(self.data).create()


def pack(plan: JobGraph) -> bytes:
    """Return the job as bytes. Its functions were checked when the graph was built."""
    sealed = replace(plan, vertices=tuple(map(_seal, plan.vertices)))
    job = _dumps((_main_classes(), sealed))
    return pickle.dumps((files_of_modules(), job), 5)


def _seal(vertex: VertexPlan) -> VertexPlan:
    operators = tuple(
        replace(operator, factory=SealedFactory(_dumps(operator.factory))) for operator in vertex.operators
    )
    return replace(vertex, operators=operators)


def _dumps(value: Any) -> bytes:
    file = io.BytesIO()
    _Pickler(file, 5).dump(value)
    return file.getvalue()


def _main_classes() -> dict[str, type]:
    found = {
        name: value
        for name, value in vars(sys.modules["__main__"]).items()
        if isinstance(value, type) and value.__module__ == "__main__"
    }
    return {name: value for name, value in found.items() if _can_travel(value)}


def _can_travel(value: type) -> bool:
    """Whether a class can be pickled; one that cannot is left out, and missed only if a record holds it."""
    try:
        cloudpickle.dumps(value, 5)
    except Exception:  # noqa: BLE001  # whatever a class of the user's raises
        return False
    return True


def unpack(data: bytes) -> JobGraph:
    """Return the job, each time as fresh objects; in a slot, define the main script's classes.

    Raises `EnvironmentFault` when a module that the job needs is not there.
    """
    files, job = pickle.loads(data)  # noqa: S301  # handed over by the job's own driver
    remember(files)
    classes, plan = _load(job)
    main = sys.modules["__main__"]
    for name, value in classes.items():
        setattr(main, name, value)
    assert isinstance(plan, JobGraph)
    return plan


def _load(data: bytes) -> Any:
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except ModuleNotFoundError as error:
        raise EnvironmentFault(
            f"the job needs module {error.name!r}, which this worker does not have: {how_to_ship(error.name or '')}"
        ) from error
    except (ImportError, AttributeError) as error:
        raise EnvironmentFault(
            f"a module of this worker differs from the driver's: {error}. Ship the driver's: env.add_python_file(), "
            "--py-files of spark-submit, or headgate pack"
        ) from error
