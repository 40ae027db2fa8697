"""The package that brings a job to its slots: the job graph, and the classes of the user's main script.

Functions of the main script are pickled by value. The package contains its classes, and slots make them attributes of
`__main__`. So records and state can pickle instances of these classes by reference. Such pickles are short and fast,
and can be read after a restart.

Each operator is pickled separately: a function object that the program uses twice becomes two objects, as in Flink.
"""

from __future__ import annotations

import io
import pickle
import sys
from dataclasses import dataclass, replace
from typing import Any, final

import cloudpickle

from headgate.errors import EnvironmentFault
from headgate.graph.job_graph import JobGraph, VertexPlan
from headgate.state.formats.missing_module import files_of_modules, how_to_ship, remember
from headgate.types.by_value import Unpickler, code_dumps


@final
@dataclass(frozen=True, slots=True)
class SealedFactory:
    """The pickled factory of an operator. Its operators share no object with other operators."""

    data: bytes

    def create(self) -> Any:
        """Return a new operator. Raises `EnvironmentFault` if the worker lacks a module."""
        return _load(self.data).create()


def pack(plan: JobGraph) -> bytes:
    """Return the package as bytes. Building the graph has checked that functions can be pickled."""
    sealed = replace(plan, vertices=tuple(map(_seal, plan.vertices)))
    job = code_dumps((_main_classes(), sealed))
    return pickle.dumps((files_of_modules(), job), 5)


def _seal(vertex: VertexPlan) -> VertexPlan:
    operators = tuple(
        replace(operator, factory=SealedFactory(code_dumps(operator.factory))) for operator in vertex.operators
    )
    return replace(vertex, operators=operators)


def _main_classes() -> dict[str, type]:
    found = {
        name: value
        for name, value in vars(sys.modules["__main__"]).items()
        if isinstance(value, type) and value.__module__ == "__main__"
    }
    return {name: value for name, value in found.items() if _can_travel(value)}


def _can_travel(value: type) -> bool:
    """Return whether a class can be pickled. The package omits other classes; only records of these classes fail."""
    try:
        cloudpickle.dumps(value, 5)
    except Exception:  # noqa: BLE001  # a class of the user may raise any error
        return False
    return True


def unpack(data: bytes) -> JobGraph:
    """Return the job graph, as new objects at each call, and define the main script's classes in `__main__`.

    Raises `EnvironmentFault` if the worker lacks a module.
    """
    files, job = pickle.loads(data)  # noqa: S301  # from the job's own driver
    remember(files)
    classes, plan = _load(job)
    main = sys.modules["__main__"]
    for name, value in classes.items():
        setattr(main, name, value)
    assert isinstance(plan, JobGraph)
    return plan


def _load(data: bytes) -> Any:
    try:
        return Unpickler(io.BytesIO(data)).load()
    except ModuleNotFoundError as error:
        raise EnvironmentFault(
            f"the job needs module {error.name!r}, which this worker does not have: {how_to_ship(error.name or '')}"
        ) from error
    except (ImportError, AttributeError) as error:
        raise EnvironmentFault(
            f"a module of this worker differs from the driver's: {error}. Ship the driver's: env.add_python_file(), "
            "--py-files of spark-submit, or headgate pack"
        ) from error
