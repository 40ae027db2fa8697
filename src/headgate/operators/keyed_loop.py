"""The loop over the records of a keyed operator, which is the hot path of the product.

`headgate.state.backend` explains its lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, final

from headgate.operators.keyed_context import KeyedContext
from headgate.operators.plain import RecordCall
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import GENERATION
from headgate.time.timers import Timers
from headgate.types.record_copies import Extend

KeyedCall = RecordCall[KeyedContext]


@final
class KeyedLoop:
    """Calls functions for records, with the record's key as the current key.

    `extend` appends the results of a call to a list.
    """

    def __init__(self, backend: KeyedBackend, extend: Extend) -> None:
        self._backend = backend
        self._extend = extend

    def run(self, keys: list[Any], position: Iterator[Any], call: KeyedCall, context: KeyedContext) -> list[Any]:
        """Call `call` with each record of `position`, of a key each, and the context; return all results."""
        backend, extend = self._backend, self._extend
        cell_of, generation, current = backend.cells.get, backend.generation, backend.current
        out: list[Any] = []
        for key, value in zip(keys, position):  # noqa: B905  # lengths agree
            cell = cell_of(key)
            if cell is None or cell[GENERATION] != generation:
                cell = backend.enter(key, cell)
            current.cell = cell
            results = call(value, context)
            if results is not None:
                extend(out, results)
        return out

    def run_timed(
        self, keys: list[Any], timestamps: list[int], position: Iterator[Any], call: KeyedCall, context: KeyedContext
    ) -> tuple[list[Any], list[int]]:
        """Do as `run`, with the timestamp of each record in the context; return all results, and their timestamps."""
        backend, extend = self._backend, self._extend
        cell_of, generation, current = backend.cells.get, backend.generation, backend.current
        out: list[Any] = []
        times: list[int] = []
        for key, time, value in zip(keys, timestamps, position):  # noqa: B905  # lengths agree
            cell = cell_of(key)
            if cell is None or cell[GENERATION] != generation:
                cell = backend.enter(key, cell)
            current.cell = cell
            results = call(value, context.at(time))
            if results is not None:
                extend(out, results)
                if len(out) > len(times):
                    times += [time] * (len(out) - len(times))
        return out, times

    def fire(
        self, timers: Timers, until_ms: int, limit: int, call: KeyedCall, context: KeyedContext
    ) -> tuple[list[Any], list[int]]:
        """Call `call` with the time of each timer that is due, and the context with this timestamp.

        Return all results, and their timestamps. `Timers.due` describes the arguments.
        """
        extend = self._extend
        out: list[Any] = []
        times: list[int] = []
        for time in timers.due(until_ms, limit, out):
            results = call(time, context.at(time))
            if results is not None:
                extend(out, results)
                while len(times) < len(out):
                    times.append(time)
        return out, times


def keyed_loop(native: ModuleType | None, backend: KeyedBackend, extend: Extend) -> KeyedLoop:
    """Return the loop of an operator. The loop is compiled if the job runs compiled."""
    made: KeyedLoop = (KeyedLoop if native is None else native.KeyedLoop)(backend, extend)
    return made
