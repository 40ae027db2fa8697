"""The keyed operator: runs user functions on a keyed stream, with state for each key.

All functions on keyed streams run through one loop; they differ only in how a record becomes results
(`KeyedCall`). The loop is the hot path of the product: read `headgate.state.hashmap` for what its lines do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

from headgate.elements import Barrier, Batch
from headgate.functions.api import KeyedProcessFunction
from headgate.operators.base import (
    USER_ERRORS,
    Operator,
    OperatorContext,
    OperatorSnapshot,
    Runtime,
    UserCodeError,
    close_function,
    last_index,
    open_function,
)
from headgate.state.cells import EPOCH, KEY
from headgate.state.files import FileHandle, StateFile
from headgate.state.hashmap import HashMapBackend
from headgate.state.keygroups import key_group_range

KeyedCall = Callable[[Any, "KeyedContext"], "Iterable[Any] | None"]


@final
class KeyedContext(KeyedProcessFunction.Context):
    """The context of the current record and its key."""

    __slots__ = ("_backend",)

    def __init__(self, backend: HashMapBackend) -> None:
        super().__init__()
        self._backend = backend

    def get_current_key(self) -> Any:
        """Return the key of the current record; raises `StateAccessError` where there is none."""
        return self._backend.cell[KEY]

    def at(self, timestamp_ms: int) -> KeyedContext:
        """Set the timestamp of the current record; return the context itself."""
        self._timestamp = timestamp_ms
        return self


def _place_of(file: StateFile, uid: str) -> str:
    """Return where the state lies, for messages."""
    state = f"keyed state of operator {uid!r}"
    return f"{file.handle.path} ({state})" if isinstance(file.handle, FileHandle) else state


class KeyedOperator(Operator):
    """Runs a user function for each record, with the record's key as the current one."""

    def __init__(self, function: Any, bind: Callable[[Any, Runtime], KeyedCall]) -> None:
        self._function = function
        self._bind = bind

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._groups = key_group_range(context.subtask, context.parallelism, context.max_parallelism)
        self._backend = HashMapBackend(self._groups, context.max_parallelism)
        for part in context.restored.keyed:
            for file in part.state.base:
                data = part.files[file.name]
                assert isinstance(data, bytes)
                self._backend.restore(data, _place_of(file, context.uid))
        runtime = Runtime(context, self._backend)
        open_function(self._function, runtime)
        self._call = self._bind(self._function, runtime)
        self._context = KeyedContext(self._backend)

    def process(self, batch: Batch) -> Batch:
        if batch.keys is None:
            raise UserCodeError(during="a keyed operator got records without keys")
        try:
            return self._run(batch) if batch.timestamps is None else self._run_timed(batch, batch.timestamps)
        except USER_ERRORS as error:
            raise self._culprit(batch) from error
        finally:
            self._backend.leave()

    def _run(self, batch: Batch) -> Batch:
        backend, call, context = self._backend, self._call, self._context
        cell_of, epoch = backend.cells.get, backend.epoch
        self._position = position = iter(batch.records)
        out: list[Any] = []
        for key, value in zip(batch.keys, position):  # type: ignore[arg-type]  # noqa: B905  # lengths agree
            cell = cell_of(key)
            if cell is None or cell[EPOCH] != epoch:
                cell = backend.enter(key, cell)
            backend.cell = cell
            results = call(value, context)
            if results is not None:
                out += results
        return Batch(out)

    def _run_timed(self, batch: Batch, timestamps: list[int]) -> Batch:
        backend, call, context = self._backend, self._call, self._context
        cell_of, epoch = backend.cells.get, backend.epoch
        self._position = position = iter(batch.records)
        out: list[Any] = []
        times: list[int] = []
        for key, time, value in zip(batch.keys, timestamps, position):  # type: ignore[arg-type]  # noqa: B905
            cell = cell_of(key)
            if cell is None or cell[EPOCH] != epoch:
                cell = backend.enter(key, cell)
            backend.cell = cell
            results = call(value, context.at(time))
            if results is not None:
                out += results
                times += [time] * (len(out) - len(times))
        return Batch(out, times)

    def _culprit(self, batch: Batch) -> UserCodeError:
        index = last_index(batch.records, self._position)
        return UserCodeError(record=batch.records[index], key=batch.keys[index])  # type: ignore[index]  # checked above

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        if not self.context.checkpointing:
            return OperatorSnapshot(uid=self.context.uid)
        return OperatorSnapshot(uid=self.context.uid, keyed=self._backend.snapshot())

    def forget(self, snapshot: OperatorSnapshot) -> None:
        if snapshot.keyed is not None:
            self._backend.forget(snapshot.keyed)

    def close(self) -> None:
        close_function(self._function)
