"""Patterns of records: complex event processing with the names and rules of Flink CEP, which PyFlink lacks.

>>> from headgate.pattern import CEP, Pattern
>>> rising = Pattern.begin("low").where(lambda price: price < 10).next("high").where(lambda price: price > 20)
"""

from headgate.functions.patterns.functions import (
    ConditionContext,
    IterativeCondition,
    Match,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from headgate.functions.patterns.pattern import Pattern
from headgate.functions.patterns.skip import AfterMatchSkipStrategy
from headgate.functions.patterns.step import WithinType
from headgate.pattern.pattern_stream import CEP, PatternStream

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "ConditionContext",
    "IterativeCondition",
    "Match",
    "Pattern",
    "PatternProcessFunction",
    "PatternStream",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
