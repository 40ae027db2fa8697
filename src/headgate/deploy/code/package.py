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
    """The factory of an operator, pickled. Whatever is made from it shares nothing with any other operator."""

    data: bytes

    def create(self) -> Any:
        """Return a new operator. Raises `EnvironmentFault` as `unpack` does."""
        return _load(self.data).create()


def pack(plan: JobGraph) -> bytes:
    """Return the job as bytes. Its functions were checked when the graph was built."""
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
