"""Operators with two inputs: co-map, co-flat-map and co-process, on streams without keys and on keyed ones."""

from __future__ import annotations

from typing import ClassVar, final

from headgate.elements import Batch
from headgate.functions.record_errors import RecordErrors
from headgate.operators.base import OperatorContext
from headgate.operators.calls import CO_FLAT_MAP, CO_MAP, CO_PROCESS, Method, RecordCall
from headgate.operators.keyed import KeyedOperator
from headgate.operators.plain import PlainContext, PlainOperator
from headgate.operators.runtime_context import Runtime
from headgate.operators.user_function import FunctionFactory

Methods = tuple[Method, Method]
"""The method for records of the first input, and the method for records of the second input."""


@final
class CoOperator(PlainOperator):
    """Calls one method of a function for records of the first input, another for records of the second input."""

    def __init__(self, function: object, methods: Methods, errors: RecordErrors | None = None) -> None:
        super().__init__(function, errors)
        self._methods = methods

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._context = PlainContext(self._times)
        self._first, self._second = (
            self._user.guarded(each.call(self._user.function, context)) for each in self._methods
        )

    def process(self, batch: Batch) -> Batch:
        return self._run(batch, self._first, self._context, f"{self._methods[0].name}()")

    def process_second(self, batch: Batch) -> Batch:
        return self._run(batch, self._second, self._context, f"{self._methods[1].name}()")


@final
class KeyedCoOperator(KeyedOperator):
    """Does as `CoOperator` does on two keyed streams. Both inputs share the state and the timers of a key."""

    def __init__(self, function: object, methods: Methods, errors: RecordErrors | None = None) -> None:
        super().__init__(function, self._bind_first, errors)
        self._methods = methods

    def _bind_first(self, function: object, runtime: Runtime) -> RecordCall:
        self._call_second = self._user.guarded(self._methods[1].call(function, runtime))
        return self._methods[0].call(function, runtime)

    def process(self, batch: Batch) -> Batch:
        return self._process(batch, self._call, f"{self._methods[0].name}()")

    def process_second(self, batch: Batch) -> Batch:
        return self._process(batch, self._call_second, f"{self._methods[1].name}()")


class _CoFactory(FunctionFactory):
    """Makes an operator that calls `methods` of the function."""

    methods: ClassVar[Methods]

    def create(self) -> CoOperator:
        return CoOperator(self.function, self.methods, self.errors)


class _KeyedCoFactory(FunctionFactory):
    """Makes a keyed operator that calls `methods` of the function."""

    methods: ClassVar[Methods]

    def create(self) -> KeyedCoOperator:
        return KeyedCoOperator(self.function, self.methods, self.errors)


@final
class CoMapFactory(_CoFactory):
    """Makes an operator of a `CoMapFunction`."""

    methods = CO_MAP


@final
class CoFlatMapFactory(_CoFactory):
    """Makes an operator of a `CoFlatMapFunction`."""

    methods = CO_FLAT_MAP


@final
class CoProcessFactory(_CoFactory):
    """Makes an operator of a `CoProcessFunction`."""

    methods = CO_PROCESS


@final
class KeyedCoMapFactory(_KeyedCoFactory):
    """Makes a keyed operator of a `CoMapFunction`."""

    methods = CO_MAP


@final
class KeyedCoFlatMapFactory(_KeyedCoFactory):
    """Makes a keyed operator of a `CoFlatMapFunction`."""

    methods = CO_FLAT_MAP


@final
class KeyedCoProcessFactory(_KeyedCoFactory):
    """Makes a keyed operator of a `KeyedCoProcessFunction`, or of a `CoProcessFunction`, which has no timers."""

    methods = CO_PROCESS
